"""docs/testing.md: its Python runs as it stands, and its table is the table of commands."""

import re
from pathlib import Path

import pytest

from barnabas.server.requests.faults import Action
from barnabas.server.testing.commands import COMMANDS
from barnabas.server.testing.fault_commands import ACTIONS, PREDICATE

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_tests_on_the_page_pass(pytester: pytest.Pytester) -> None:
    pytest.importorskip("confluent_kafka")
    tests = [program for program in PROGRAMS if "def test_" in program]
    assert len(tests) == 7
    pytester.makepyfile("\n\n".join(tests))
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=len(tests))


@pytest.mark.parametrize("program", [each for each in PROGRAMS if "def test_" not in each])
def test_the_programs_on_the_page_run(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(program, {})
    assert capsys.readouterr().out.startswith("127.0.0.1:")


def test_the_table_of_the_page_is_the_commands() -> None:
    rows = re.findall(r"^\| (GET|POST|DELETE) \| `(.*?)` \| ?(.*?) ?\| (.*?) \|$", PAGE, re.M)
    told = [
        (method, path, fields.replace("`", "").split(), does) for method, path, fields, does in rows
    ]
    assert told == [
        (each.method, each.path, [n for n in each.takes if n != PREDICATE], each.does)
        for each in COMMANDS
    ]


def test_every_action_is_on_the_page() -> None:
    table = PAGE[PAGE.index("| action |") : PAGE.index("## Time")]
    told: list[Action] = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(told) == sorted(ACTIONS)
