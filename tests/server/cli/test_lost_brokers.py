"""`produce` and `consume --follow` while their broker is away: what they say, and how they end."""

import re
import signal
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from barnabas.server.cli.liveness import Watch
from barnabas.server.cli.sending import QUIET_S, Sending, Target
from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import run_at
from tests.server.cli.processes import PATIENCE_S, Command, started, wait_until

SOON_S = 10.0  # two seconds, and the rest for a busy machine


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("t", 1)
        yield made


def sent(broker: Broker, count: int) -> None:
    """Wait until so many records are in the topic."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "ends"})
    deadline_s = time.monotonic() + PATIENCE_S
    while consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=PATIENCE_S)[1] < count:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    consumer.close()


def test_produce_says_that_the_broker_is_away_and_back(
    broker: Broker, commands: list[Command]
) -> None:
    command = started(commands, broker, "produce", "t")
    command.write("a\n")
    sent(broker, 1)
    broker.kill()
    command.write("b\n")
    assert command.wait_for(command.said, " is away: connection refused; trying again") < SOON_S
    broker.start()
    command.wait_for(command.said, " is back")
    assert command.end() == 0
    assert command.said[-1].startswith("2 records, ")
    assert len(command.said) == 3


def test_what_was_on_its_way_as_the_broker_went_is_sent_again(
    broker: Broker, commands: list[Command]
) -> None:
    """kafka-python tells of it in its log; what listens there kept it from sending again."""
    unanswered = broker.faults.add("drop", api="PRODUCE", times=1)
    command = started(commands, broker, "produce", "t")
    command.write("a\n")
    wait_until(lambda: unanswered.hits > 0)
    broker.kill()
    command.wait_for(command.said, " is away")
    broker.start()
    assert command.end() == 0
    assert command.said[-1].startswith("1 record, ")


class Look(Watch):
    """A look after which a broker is there that may have been away."""

    def __init__(self, *, was_away: bool) -> None:
        super().__init__(None)
        self._away = {0} if was_away else set()

    def look(self) -> None:
        self._away.clear()


def test_who_has_just_come_back_is_not_said_to_be_silent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The look that saw it come back counted the time that it had been away."""
    for was_away, words in ((True, ""), (False, "no acknowledgement yet of 1 record")):
        sending = Sending({}, Target("t", None, []), 60)
        sending._sent, sending._moved_s = 1, time.monotonic() - 2 * QUIET_S
        sending._look(Look(was_away=was_away))
        assert capsys.readouterr().err.partition(";")[0] == words


def test_produce_gives_up_after_its_time(broker: Broker, commands: list[Command]) -> None:
    command = started(commands, broker, "produce", "t", "--timeout", "3")
    command.write("a\n")
    sent(broker, 1)
    broker.requests.wait_for("PRODUCE", timeout_s=PATIENCE_S)
    unanswered = broker.faults.add("drop", api="PRODUCE", times=None)
    command.write("b\nc\n")
    wait_until(lambda: unanswered.hits > 0)  # by then it has read the answer before
    broker.kill()
    # The input stays open: it ends all the same.
    assert command.wait() == 1
    command.wait_for(command.said, "(--timeout)")
    assert command.said[-1] == (
        "barnabas: no acknowledgement for 3 s (--timeout); 1 of 3 records acknowledged\n"
    )
    assert "refused" not in command.said[-1]


def test_produce_says_what_was_acknowledged_at_ctrl_c(
    broker: Broker, commands: list[Command]
) -> None:
    command = started(commands, broker, "produce", "t")
    command.write("a\nb\n")
    sent(broker, 2)
    command.process.send_signal(signal.SIGINT)
    assert command.wait() == 130
    command.wait_for(command.said, "acknowledged")
    assert command.said == ["barnabas: 2 of 2 records acknowledged\n"]


def test_sigterm_is_taken_as_ctrl_c_by_who_sends(broker: Broker, commands: list[Command]) -> None:
    command = started(commands, broker, "produce", "t")
    command.write("a\nb\n")
    sent(broker, 2)
    command.process.terminate()
    assert command.wait() == 143
    command.wait_for(command.said, "acknowledged")
    assert command.said == ["barnabas: 2 of 2 records acknowledged\n"]


def test_sigterm_ends_who_watches(broker: Broker, commands: list[Command]) -> None:
    command = started(commands, broker, "top", "--json", "--interval", "0.2", "--count", "99999")
    command.wait_for(command.printed, '"kind"')
    command.process.terminate()
    assert (command.wait(), command.said) == (143, [])


def test_a_silent_broker_is_waited_for(broker: Broker, commands: list[Command]) -> None:
    silent = broker.faults.add("drop", api="PRODUCE", times=None)
    command = started(commands, broker, "produce", "t", "--timeout", "4")
    command.write("a\n")
    command.wait_for(command.said, "no acknowledgement yet of 1 record; waiting up to 4 s")
    assert command.end() == 1
    assert command.said[-1].endswith("0 of 1 record acknowledged\n")
    assert silent is not None


def test_refused_is_said_of_what_was_refused(broker: Broker, commands: list[Command]) -> None:
    broker.create_topic("compacted", 1, {"cleanup.policy": "compact"})
    command = started(commands, broker, "produce", "compacted", "--key-separator", "=")
    command.write("k=1\n")
    assert command.end() == 0
    unkeyed = started(commands, broker, "produce", "compacted")
    unkeyed.write("x\n")
    assert unkeyed.wait() == 1  # though its input stays open
    unkeyed.wait_for(unkeyed.said, "the broker refused a record for compacted: ")
    assert unkeyed.said[-1].endswith("; 0 of 1 record acknowledged\n")


def test_consume_says_that_the_broker_is_away_and_back(
    broker: Broker, commands: list[Command]
) -> None:
    follower = started(commands, broker, "consume", "t", "--follow")
    producer = started(commands, broker, "produce", "t")
    producer.write("a\n")
    follower.wait_for(follower.printed, "a\n")
    broker.kill()
    assert follower.wait_for(follower.said, " is away: ") < SOON_S
    broker.start()
    producer.write("b\n")
    follower.wait_for(follower.printed, "b\n")
    follower.wait_for(follower.said, " is back")
    follower.process.send_signal(signal.SIGINT)
    assert follower.wait() == 130
    assert len(follower.said) == 2
    assert re.fullmatch(
        r"broker 0 at 127\.0\.0\.1:\d+ is away: [a-z ]+; trying again\n", follower.said[0]
    )


def test_consume_says_that_the_broker_hangs(broker: Broker, commands: list[Command]) -> None:
    follower = started(commands, broker, "consume", "t", "--follow")
    producer = started(commands, broker, "produce", "t")
    producer.write("a\n")
    follower.wait_for(follower.printed, "a\n")
    silence = broker.faults.add("delay", api="FETCH", times=None, delay_ms=9_000)
    follower.wait_for(follower.said, " has not answered for 5.5 s; waiting")
    silence.remove()
    follower.wait_for(follower.said, " answers again")
    follower.process.send_signal(signal.SIGINT)
    assert follower.wait() == 130
    assert len(follower.said) == 2


def test_who_reads_to_the_end_hears_it_too(broker: Broker, commands: list[Command]) -> None:
    producer = started(commands, broker, "produce", "t")
    producer.write("a\nb\n")
    assert producer.end() == 0
    silence = broker.faults.add("drop", api="FETCH", times=None)
    reader = started(commands, broker, "consume", "t")
    wait_until(lambda: silence.hits > 0)
    broker.kill()
    assert reader.wait_for(reader.said, " is away: ") < SOON_S
    broker.start()
    silence.remove()
    assert reader.wait() == 0
    reader.wait_for(reader.printed, "b\n")


def test_consume_reads_partitions_that_are_added_and_hears_of_the_end(
    broker: Broker, commands: list[Command]
) -> None:
    follower = started(
        commands, broker, "consume", "t", "--follow", "--format", "{partition} {key}"
    )
    assert started(commands, broker, "topics", "alter", "t", "--partitions", "3").end() == 0
    for partition in ("0", "2"):
        producer = started(commands, broker, "produce", "t", "-p", partition, "-k", "new")
        producer.write("x\n")
        assert producer.end() == 0
        follower.wait_for(follower.printed, f"{partition} new\n")
    assert started(commands, broker, "topics", "delete", "t").end() == 0
    assert follower.wait() == 1
    follower.wait_for(follower.said, "barnabas: the topic t was deleted\n")


@pytest.mark.parametrize("way", [(), ("--group", "g"), ("--follow",), ("--group", "g", "--follow")])
def test_who_reads_a_topic_is_told_that_it_was_deleted(
    broker: Broker, commands: list[Command], way: tuple[str, ...]
) -> None:
    """Without --follow it was waited for, with a group until a commit failed, or for ever."""
    run = run_at(broker.bootstrap_servers)
    run("produce", "t", stdin="a\nb\n")
    refused = broker.faults.add("error", api="FETCH", error="NOT_LEADER_OR_FOLLOWER", times=None)
    reader = started(commands, broker, "consume", "t", *way)
    wait_until(lambda: refused.hits > 0)
    run("topics", "delete", "t", "--yes")
    refused.remove()
    assert reader.wait() == 1
    reader.wait_for(reader.said, "barnabas: the topic t was deleted\n")
    assert (len(reader.said), reader.printed) == (1, [])


@pytest.mark.parametrize("beginning", [(), ("--tail", "1")])
def test_who_follows_a_partition_gets_no_others(
    broker: Broker, commands: list[Command], beginning: tuple[str, ...]
) -> None:
    """Others were read from their start as soon as metadata told of them.

    That a look at metadata has passed is known by who reads them all: it has a new partition.
    """
    run = run_at(broker.bootstrap_servers)
    broker.create_topic("named", 3)
    for partition in ("2", "1"):
        run("produce", "named", "-p", partition, stdin="old\n")
    options = ("--follow", "--format", "{partition} {value}")
    one = started(commands, broker, "consume", "named", "-p", "1", *beginning, *options)
    every = started(commands, broker, "consume", "named", *options)
    for follower in (one, every):
        follower.wait_for(follower.printed, "1 old\n")
    run("topics", "alter", "named", "--partitions", "4")
    for partition in ("3", "1"):
        run("produce", "named", "-p", partition, stdin="new\n")
        every.wait_for(every.printed, f"{partition} new\n")
    one.wait_for(one.printed, "1 new\n")
    assert one.printed == ["1 old\n", "1 new\n"]
