"""Alterations as pure functions."""

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.settings.changes.alterations import (
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
