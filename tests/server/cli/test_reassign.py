"""`barnabas topics reassign` and `elect-leaders`, `barnabas cluster describe`: what is typed.

What they do takes brokers: compat-tests/cli/test_cluster_commands.py.
"""

from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "say which topics, or --file FILE, or --cancel"),
        (("t", "--file", __file__), 2, "--file says all of it"),
        (("--file", __file__), 2, "is no JSON"),
        (("--file", "no-such-file"), 2, "no-such-file"),
        (("--cancel", "--brokers", "1"), 2, "--cancel takes topics or a file"),
        (("t", "--brokers", "1,x"), 2, "--brokers: '1,x' is not a list of broker ids"),
        (("known", "--brokers", "7"), 2, "broker 7 is not there; there are 0"),
        (("known", "--replication-factor", "2"), 2, "2 replicas of known-0 cannot be on 1 brok"),
        (("knwon",), 1, "did you mean known?"),
    ],
)
def test_what_cannot_be_planned_is_told(
    arguments: tuple[str, ...], code: int, words: str, run: Run, broker: Broker
) -> None:
    if "known" not in [row["topic"] for row in run("topics", "list", "--json").rows]:
        broker.create_topic("known")
    outcome = run("topics", "reassign", *arguments)
    assert (outcome.code, outcome.stdout) == (code, "")
    assert words in outcome.stderr and outcome.is_one_sentence()


def test_nothing_is_moved_where_all_is_well(run: Run, broker: Broker) -> None:
    broker.create_topic("even", 3)
    outcome = run("topics", "reassign", "even")
    assert (outcome.code, outcome.stdout) == (0, "")
    assert outcome.stderr == "nothing to do: the replicas are where they are to be\n"


def test_elections(run: Run, broker: Broker) -> None:
    broker.create_topic("led", 2)
    assert run("topics", "elect-leaders", "led").stderr == "no election was needed\n"
    outcome = run("topics", "elect-leaders", "--unclean")
    assert (outcome.code, outcome.is_one_sentence()) == (2, True)
    assert "say which topics" in outcome.stderr
    assert run("topics", "elect-leaders", "missing").code == 1


def test_a_cluster_is_described(run: Run, broker: Broker) -> None:
    broker.create_topic("well", 2)
    outcome = run("cluster", "describe", "--check")
    lines = outcome.stdout.splitlines()
    assert outcome.code == 0 and lines[0].endswith(", controller 0")
    assert lines[1].split() == ["BROKER", "HOST", "PORT", "RACK", "LEADS", "HOLDS", "BEHIND"]
    assert lines[-1].endswith("every partition has a leader, and all of its replicas in sync")
    summary, row = run("cluster", "describe", "--json").rows
    assert (summary["kind"], summary["offline"], summary["under_min_isr"]) == ("cluster", 0, 0)
    assert (row["kind"], row["broker"], row["leads"], row["behind"]) == (
        "broker", 0, summary["partitions"], 0,
    )  # fmt: skip


def test_a_bare_word_still_lists_the_brokers(run: Run, tmp_path: Path) -> None:
    assert run("cluster", "--json").rows == run("cluster", "brokers", "--json").rows
    outcome = run("cluster", "decribe")
    assert (outcome.code, outcome.is_one_sentence()) == (2, True)
    assert "did you mean describe?" in outcome.stderr
