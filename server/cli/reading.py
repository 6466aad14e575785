"""Records of partitions, from offsets to offsets or on and on, to the standard output or to files.

It is said when brokers are away and back, and when a topic is gone. Who follows reads the
partitions that a topic gets later, too.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from barnabas.server.cli.client_settings import CONSUMER, made, manager_of
from barnabas.server.cli.failures import BadInput, Failure, reason_of
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.liveness import SILENT_S, Watch, looking
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.record_formats import Print
from barnabas.server.cli.topics_read import Topics

POLL_MS = 500
RECORDS_PER_POLL = 2000
METADATA_MS = 1000  # of who follows: how soon new partitions are seen


class Range(NamedTuple):
    """What to read: from where, up to where (on and on for None), how many at most.

    Who follows reads the partitions that the topics get later, too, unless some were named.
    """

    starts: dict[Place, int]
    ends: dict[Place, int] | None
    most: int | None
    is_of_named: bool = False


class Sink(Protocol):
    """Where records go."""

    def take(self, record: Any) -> None:
        """Take one record of kafka-python's."""

    def flush(self) -> None:
        """Let others see what was taken."""


class Output:
    """The standard output."""

    def __init__(self, show: Print) -> None:
        self._show, self._write = show, sys.stdout.buffer.write
        self.flush = sys.stdout.buffer.flush

    def take(self, record: Any) -> None:
        """Print it."""
        self._write(self._show(record))


class Files:
    """A directory with one file a record: TOPIC-PARTITION-OFFSET, the value or what is shown."""

    def __init__(self, directory: Path, show: Print | None) -> None:
        self._directory, self._show = directory, show
        self.count = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"--files: {directory}: {reason_of(error)}") from error

    def take(self, record: Any) -> None:
        """Write its file."""
        data = (record.value or b"") if self._show is None else self._show(record)
        name = f"{record.topic}-{record.partition}-{record.offset}"
        try:
            (self._directory / name).write_bytes(data)
        except OSError as error:
            raise Failure(f"{self._directory / name}: {reason_of(error)}") from error
        self.count += 1

    def flush(self) -> None:
        """Each file is complete by itself."""


def read(settings: dict[str, Any], wanted: Range, sink: Sink) -> None:
    """Take what is in the range, each partition in order. Failure when a topic goes."""
    left = {p for p, at in wanted.starts.items() if wanted.ends is None or at < wanted.ends[p]}
    if not left and wanted.ends is not None:
        return
    partition = kafka().TopicPartition
    with consuming(settings) as (consumer, watch):
        consumer.assign([partition(*place) for place in sorted(left)])
        for place in left:
            consumer.seek(partition(*place), wanted.starts[place])
        with looking(watch.look):
            if wanted.ends is None:
                _follow(consumer, wanted, watch, sink)
            else:
                _read_to_ends(consumer, wanted, left, watch, sink)


@contextmanager
def consuming(settings: dict[str, Any]) -> Iterator[tuple[Any, Watch]]:
    """A consumer of kafka-python's that is closed again, and who watches its brokers."""
    consumer = made(CONSUMER, settings)
    try:
        yield consumer, Watch(manager_of(consumer))
    finally:
        consumer.close(autocommit=False)


def polled(consumer: Any, watch: Watch) -> dict[Any, list[Any]]:
    """What has come, by partition; waits a while for it. It is said who lets it wait for long."""
    found: dict[Any, list[Any]] = consumer.poll(POLL_MS, max_records=RECORDS_PER_POLL)
    if not found:
        watch.listen(SILENT_S + consumer.config["fetch_max_wait_ms"] / 1000)
    return found


def _read_to_ends(consumer: Any, wanted: Range, left: set[Place], watch: Watch, sink: Sink) -> None:
    ends, still = wanted.ends or {}, wanted.most
    topics = Topics(consumer, {topic for topic, _ in left}, follow=False)
    while left and still != 0:
        for where, records in polled(consumer, watch).items():
            end = ends[where]
            taken = [record for record in records if record.offset < end][:still]
            for record in taken:
                sink.take(record)
            still = None if still is None else still - len(taken)
        sink.flush()
        _drop_done(consumer, ends, left)
        topics.keep({topic for topic, _ in left})
        if not watch.is_cut_off:
            gone = topics.look()
            left -= {place for place in left if place[0] in gone}
    topics.check()


def _drop_done(consumer: Any, ends: dict[Place, int], left: set[Place]) -> None:
    """Pause what is read to its end; control records move a position without being seen."""
    partition = kafka().TopicPartition
    for place in list(left):
        where = partition(*place)
        if consumer.position(where) >= ends[place]:
            consumer.pause(where)
            left.discard(place)


def _follow(consumer: Any, wanted: Range, watch: Watch, sink: Sink) -> None:
    still = wanted.most
    topics = Topics(consumer, {topic for topic, _ in wanted.starts}, follow=True)
    while still != 0:
        for records in polled(consumer, watch).values():
            taken = records[:still]
            for record in taken:
                sink.take(record)
            still = None if still is None else still - len(taken)
        sink.flush()
        if watch.is_cut_off:
            continue
        if gone := topics.look():
            _assign(consumer, [w for w in consumer.assignment() if w.topic not in gone])
        if not wanted.is_of_named:
            _add_new(consumer, topics.left)


def _add_new(consumer: Any, topics: list[str]) -> None:
    """Read partitions that topics have got from their start."""
    partition = kafka().TopicPartition
    known = [partition(topic, number) for topic in topics
             for number in consumer._cluster.partitions_for_topic(topic) or ()]  # fmt: skip
    mine = consumer.assignment()
    if new := [where for where in known if where not in mine]:
        _assign(consumer, [*mine, *new])
        consumer.seek_to_beginning(*new)


def _assign(consumer: Any, places: list[Any]) -> None:
    consumer.assign(sorted(places))
