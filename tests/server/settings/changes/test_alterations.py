"""Alterations as pure functions."""

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.settings.changes.alter import Change
from barnabas.server.settings.changes.alterations import (
    MOST_CHARACTERS,
    MOST_SETTINGS,
    Alteration,
    Operation,
    altered,
    check_alterations,
    replaced,
)
from barnabas.wire.error_codes import ErrorCode

SET, DELETE, APPEND, SUBTRACT = Operation


def list_of(name: str) -> list[str] | None:
    return ["a", "b"] if name == "list" else None


@pytest.mark.parametrize(
    ("own", "change", "after"),
    [
        ({}, ("k", SET, "1"), {"k": "1"}),
        ({"k": "0"}, ("k", SET, "1"), {"k": "1"}),
        ({"k": "0", "l": "2"}, ("k", DELETE, None), {"l": "2"}),
        ({}, ("k", DELETE, None), {}),
        ({}, ("list", APPEND, "c"), {"list": "a,b,c"}),
        ({"list": "x"}, ("list", APPEND, "c, x"), {"list": "x,c"}),
        ({"list": ""}, ("list", APPEND, "c"), {"list": "c"}),
        ({}, ("list", SUBTRACT, "a,z"), {"list": "b"}),
        ({"list": "x, y"}, ("list", SUBTRACT, "y"), {"list": "x"}),
    ],
)
def test_one_alteration(
    own: dict[str, str], change: tuple[str, int, str | None], after: dict[str, str]
) -> None:
    before = dict(own)
    alterations = [Alteration(*change)]
    check_alterations(alterations)
    assert altered(own, alterations, list_of) == after
    assert own == before


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_lists_alone_have_members(operation: Operation) -> None:
    with pytest.raises(ApiError) as refusal:
        altered({}, [Alteration("k", operation, "1")], list_of)
    assert refusal.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    "changes",
    [
        [("k", SET, "1"), ("k", SET, "2")],
        [("k", SET, None)],
        [("k", APPEND, None)],
        [("k", 4, "1")],
        [("k", -1, "1")],
    ],
)
def test_senseless_alterations(changes: list[tuple[str, int, str | None]]) -> None:
    with pytest.raises(ApiError) as refusal:
        check_alterations([Alteration(*change) for change in changes])
    assert refusal.value.code is ErrorCode.INVALID_REQUEST


def test_replacing() -> None:
    assert replaced([Alteration("a", SET, "1"), Alteration("b", SET, "2")]) == {"a": "1", "b": "2"}


class CountingName(str):
    """A name that counts how often one of its kind is compared."""

    comparisons = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountingName.comparisons += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_each_member_of_a_long_list_is_looked_for_once(operation: Operation) -> None:
    own = [CountingName(f"m{n}") for n in range(2_000)]
    given = ",".join(f"g{n}" for n in range(2_000))
    CountingName.comparisons = 0
    after = altered({}, [Alteration("list", operation, given)], lambda _: own)["list"]
    assert len(after.split(",")) == (4_000 if operation is APPEND else 2_000)
    assert CountingName.comparisons < 20_000


@pytest.mark.parametrize(
    "changes",
    [
        [Alteration(f"k{n}", SET, "v") for n in range(MOST_SETTINGS + 1)],
        [Alteration("k", SET, "v" * MOST_CHARACTERS)],
        [Alteration(f"k{n}", SET, "v" * (MOST_CHARACTERS // 10)) for n in range(10)],
    ],
)
def test_a_change_has_a_size_that_is_judged_before_all_else(changes: list[Alteration]) -> None:
    with pytest.raises(ApiError) as refusal:
        check_alterations(changes)
    assert refusal.value.code is ErrorCode.INVALID_CONFIG


def test_what_a_resource_has_already_counts() -> None:
    own = {f"k{n}": "v" for n in range(MOST_SETTINGS)}
    one_more = Change([Alteration("another", SET, "v")], validate_only=False)
    with pytest.raises(ApiError) as refusal:
        one_more.broker(own)
    assert refusal.value.code is ErrorCode.INVALID_CONFIG
    one_less = Change([Alteration("k0", DELETE, None)], validate_only=False)
    assert len(one_less.topic(own)) == MOST_SETTINGS - 1
