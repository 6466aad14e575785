"""`consume --group`: how members share a topic, and what they leave behind."""

import signal
import time
from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import run_at
from tests.server.cli.processes import PATIENCE_S, Command, started, wait_until

RARELY = """
from barnabas.server.cli import group_reading
from barnabas.server.cli.main import main
group_reading.COMMIT_S = 1e9
main()
"""  # a member whose every second is over when it is told to end, or to give partitions up


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("t", 1)
        yield made


def test_two_members_share_a_topic(broker: Broker, commands: list[Command]) -> None:
    broker.create_topic("shared", 4)
    both = [
        started(commands, broker, "consume", "shared", "--group", "g", "--follow") for _ in range(2)
    ]
    producer = started(commands, broker, "produce", "shared")
    deadline_s = time.monotonic() + PATIENCE_S
    number = 0
    while not all(member.printed for member in both):
        assert time.monotonic() < deadline_s, [member.said for member in both]
        producer.write(f"{number}\n")
        number += 1
        time.sleep(0.05)
    assert producer.end() == 0
    while len(both[0].printed) + len(both[1].printed) < number:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    for member in both:
        member.process.send_signal(signal.SIGINT)
        assert member.wait() == 130
    again = started(commands, broker, "consume", "shared", "--group", "g")
    assert (again.end(), again.printed) == (0, [])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_member_that_is_told_to_end_commits_and_leaves(
    broker: Broker, commands: list[Command], number: signal.Signals, code: int
) -> None:
    run = run_at(broker.bootstrap_servers)
    run("produce", "t", stdin="a\nb\n")
    way = ("consume", "t", "--group", "g")
    member = started(commands, broker, *way, "--follow", code=RARELY)
    member.wait_for(member.printed, "b\n")
    member.process.send_signal(number)
    assert (member.wait(), member.said) == (code, [])
    assert run("groups", "describe", "g", "--members", "--json").rows == []
    assert run(*way).stdout == ""


def test_what_a_member_printed_does_not_come_again_when_another_joins(
    broker: Broker, commands: list[Command]
) -> None:
    """Who got its partitions began where it had been up to a second ago."""
    run = run_at(broker.bootstrap_servers)
    broker.create_topic("shared", 4)
    for partition in "0123":
        run("produce", "shared", "-p", partition, stdin="old\n")
    way = ("consume", "shared", "--group", "g", "--follow")
    first = started(commands, broker, *way, code=RARELY)
    wait_until(lambda: len(first.printed) == 4)
    second = started(commands, broker, *way)

    def partitions() -> list[int]:
        rows = run("groups", "describe", "g", "--members", "--json").rows
        return [len(row["partitions"]) for row in rows]

    wait_until(lambda: partitions() == [2, 2])
    for partition in "0123":
        run("produce", "shared", "-p", partition, stdin="new\n")
    wait_until(lambda: len(first.printed) + len(second.printed) >= 8)
    assert (first.printed, second.printed) == (["old\n"] * 4 + ["new\n"] * 2, ["new\n"] * 2)
