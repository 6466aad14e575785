"""docs/guarantees.md: every test that it names exists, and every promise names one."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/.-]+\.py::\w+)`", PAGE)))
HEAD = "| promise | by | tested by |"


@cache
def functions_of(path: str) -> frozenset[str]:
    """The functions of a file of tests that pytest would collect."""
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(
        each.name
        for each in tree.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        and each.name.startswith("test_")
    )


@pytest.mark.parametrize("name", NAMED)
def test_a_test_that_is_named_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert Path(path).name.startswith("test_")
    assert function in functions_of(path)


def test_every_promise_names_a_test() -> None:
    tables = PAGE.split(HEAD)[1:]
    assert len(tables) == 5
    for table in tables:
        rows = [row for row in table.split("\n\n")[0].splitlines()[2:] if row]
        assert rows
        for row in rows:
            promise, _, tested = (cell.strip() for cell in row.strip("|").split("|"))
            assert re.search(r"\.py::test_", tested), promise


def test_each_kind_of_guarantee_says_what_it_does_not_hold() -> None:
    sections = re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]
    with_promises = [section for section in sections if HEAD in section]
    assert [s.splitlines()[0] for s in with_promises if "Not promised" not in s] == []


@pytest.mark.parametrize("page", ["README.md", "docs/transactions.md", "docs/architecture.md"])
def test_it_is_found_from(page: str) -> None:
    assert "guarantees.md" in (ROOT / page).read_text()
