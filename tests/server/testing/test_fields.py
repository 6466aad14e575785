"""Reading a command's fields: values, and the sentences about wrong ones."""

from collections.abc import Callable

import pytest

from barnabas.server.testing.fields import Fields
from barnabas.server.testing.refusals import BadCommand
from barnabas.wire.api import ApiKey

NAMES = ("a", "b")


def fields(**given: object) -> Fields:
    return Fields("POST /x", given, NAMES)


def test_values_are_read() -> None:
    assert fields(a="text").text("a") == "text"
    assert fields().optional_text("a") is None
    assert fields(a=3).whole_number("a") == fields(a="3").whole_number("a") == 3
    assert fields(a=None).whole_number("a") is None
    assert fields(a=1.5).milliseconds("a", 0) == fields(a="1.5").milliseconds("a", 0) == 1.5
    assert fields().milliseconds("a", 7) == 7
    assert fields(a="y").one_of("a", ("x", "y"), "x") == "y"
    assert fields(a="fetch").named("a", ApiKey, "") is ApiKey.FETCH
    assert fields(a=1).named("a", ApiKey, "") is ApiKey.FETCH
    assert fields(a={"x": 1, "y": True}).settings("a") == {"x": "1", "y": "true"}
    assert fields().settings("a") == {}


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        (lambda: fields(c=1), "unknown field `c`; it takes a, b"),
        (lambda: Fields("POST /x", {"c": 1}, ()), "unknown field `c`; it takes no fields"),
        (lambda: fields().text("a"), "`a` is missing; it is a text"),
        (lambda: fields(a="").text("a"), "`a` is '', not a text"),
        (lambda: fields(a=1).optional_text("a"), "`a` is 1, not a text"),
        (lambda: fields(a=True).whole_number("a"), "`a` is True, not a whole number from 0"),
        (lambda: fields(a=0).whole_number("a", 1), "`a` is 0, not a whole number from 1"),
        (lambda: fields(a="1.5").whole_number("a"), "`a` is '1.5', not a whole number from 0"),
        (lambda: fields(a="9" * 5000).whole_number("a"), "not a whole number from 0"),
        (lambda: fields(a=-1).milliseconds("a", 0), "not a number of milliseconds from 0"),
        (lambda: fields(a="soon").milliseconds("a", 0), "not a number of milliseconds from 0"),
        (lambda: fields(a="z").one_of("a", ("x", "y"), "x"), "`a` is 'z', not one of x, y"),
        (lambda: fields(a=[]).one_of("a", ("x", "y"), "x"), "`a` is [], not one of x, y"),
        (lambda: fields(a="NOPE").named("a", ApiKey, "an API"), "`a` is 'NOPE', not an API"),
        (lambda: fields(a=[1]).named("a", ApiKey, "an API"), "`a` is [1], not an API"),
        (lambda: fields(a="x").settings("a"), "not an object of settings by name"),
    ],
)
def test_what_is_wrong_is_one_sentence(read: Callable[[], object], sentence: str) -> None:
    with pytest.raises(BadCommand) as refusal:
        read()
    assert str(refusal.value).startswith("POST /x: ")
    assert str(refusal.value).endswith(sentence)
