"""Transactional producers of the client programs, driven step by step, and what is then read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from client_builds import Family
from clients import PATIENCE_SECONDS, ClientPool, Event, Program, command_line, wait_until
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient


class Refused(Exception):
    """The client has refused a step."""


class Transactor:
    """A program that is running the `transact` command: one transactional producer."""

    def __init__(self, program: Program, options: Mapping[str, object]) -> None:
        self.program = program
        self.transactional_id = str(options["transactional_id"])
        self._first = len(program.events)
        program.send(command_line("transact", options))

    def step(self, line: str) -> None:
        """Send a line such as `send T 0 5 p` and wait for its end; raises what refused it."""
        before = len(self.program.events)
        self.program.send(line)
        wait_until(lambda: len(self.program.events) > before, f"the end of {line!r}")
        answer: Event = self.program.events[before]
        if answer["event"] == "refused":
            raise Refused(answer["message"])
        if answer["event"] != "applied":
            raise self.program.failed(f"{line!r} was answered by {answer}")

    def init(self) -> None:
        """Get a producer id: fences every other producer of this transactional id."""
        self.step("init")

    def begin(self) -> None:
        self.step("begin")

    def send(self, topic: str, count: int, prefix: str, partition: int = 0) -> None:
        """Write the first records of a prefix and wait until they are acknowledged."""
        self.step(f"send {topic} {partition} {count} {prefix}")

    def commit(self) -> None:
        self.step("commit")

    def abort(self) -> None:
        self.step("abort")

    def leave(self) -> None:
        """End the producer; an open transaction is left to the broker."""
        self.program.send("leave")
        self.program.wait_for_end(self._first)


@contextmanager
def transactor(
    clients: ClientPool, family: Family, transactional_id: str, timeout_ms: int = 60_000
) -> Iterator[Transactor]:
    """A transactional producer for the length of a block; it has not been initialised."""
    program = clients.take(family)
    options = {
        "bootstrap": clients.bootstrap,
        "transactional_id": transactional_id,
        "timeout_ms": timeout_ms,
    }
    producer = Transactor(program, options)
    try:
        yield producer
        producer.leave()
    except BaseException:
        program.close()
        raise
    clients.give_back(program)


class OffsetHolder:
    """A transaction that has committed a group's offsets and has not ended."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._group = group
        settings = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._consumer = Consumer(settings | {"group.id": group})
        self._producer = Producer(settings | {"transactional.id": f"holder-{group}"})
        self._producer.init_transactions(PATIENCE_SECONDS)

    def send(self, topic: str, offset: int) -> None:
        """Begin a transaction and commit the offset of the first partition in it."""
        self._producer.begin_transaction()
        position = [TopicPartition(topic, 0, offset)]
        group = self._consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(position, group, PATIENCE_SECONDS)

    def is_awaited(self) -> bool:
        """Whether a member of the group has its assignment, so that it has to ask for offsets."""
        asked = self._admin.describe_consumer_groups([self._group])
        group = asked[self._group].result(PATIENCE_SECONDS)
        return any(member.assignment.topic_partitions for member in group.members)

    def end(self, *, commit: bool) -> None:
        """End the transaction."""
        end = self._producer.commit_transaction if commit else self._producer.abort_transaction
        end(PATIENCE_SECONDS)
        self._consumer.close()
