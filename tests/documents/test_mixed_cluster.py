"""docs/mixed-cluster.md: the tests of mixed clusters that it names are those there are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "compat-tests" / "mixed"
PAGE = (ROOT / "docs" / "mixed-cluster.md").read_text()
NAMED = set(re.findall(r"`compat-tests/mixed/(\w+\.py::\w+)`", PAGE))
AT_THE_END = "test_what_all_have_left_is_the_same"
"""The last of each file, which the page tells once."""


def test_the_page_names_what_there_is() -> None:
    there = {
        f"{path.name}::{each.name}"
        for path in FOLDER.glob("test_*.py")
        for each in ast.parse(path.read_text()).body
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
    }
    assert there
    assert {name for name in there if not name.endswith(AT_THE_END)} == NAMED
    assert [name for name in there if name.endswith(AT_THE_END)]


def test_every_step_names_a_test() -> None:
    rows = PAGE.split("| step | shown by |")[1].split("\n\n")[0].splitlines()[2:]
    assert rows
    assert [row for row in rows if "::test_" not in row and "scripts/" not in row] == []


@pytest.mark.parametrize("page", ["README.md", "docs/cluster.md"])
def test_it_is_found_from(page: str) -> None:
    assert "mixed-cluster.md" in (ROOT / page).read_text()
