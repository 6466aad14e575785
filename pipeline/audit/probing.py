"""Why the broker's log has no record at an offset: the batches around it are looked at.

The function that finds out is pure, from headers; it runs in Spark's executors, over holes that
never come to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.pipeline.audit.raw_log import BrokerLog, RawLog, UnreadableLog, client_settings
from barnabas.pipeline.audit.segment_log import SegmentLog
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TASK_OFFSETS = 1 << 20
"""Holes of one partition that are further apart are looked at by another task."""
FAR_OFFSETS = 2_000
"""A hole this much further on is looked up anew."""
ROWS_AT_ONCE = 4096

MARKER, THINNED, UNDECIDED = "marker", "thinned", "undecided"
CUT, UNREAD = "cut", "unread"


class Found(NamedTuple):
    """A stretch [start, end) and what was seen there.

    MARKER: a control batch. THINNED: a batch that has fewer records than offsets spans it.
    UNDECIDED: the same of a transaction, whose record may have been aborted instead. CUT: the first
    batch of the log begins before the log start, which only DeleteRecords brings about.
    """

    what: str
    start: int
    end: int


class Hole(NamedTuple):
    """Offsets [start, end) of which the broker gave no record; the log start if it is empty."""

    start: int
    end: int


def explain(holes: Iterable[Hole], read_from: Any) -> Iterator[Found]:
    """What lies in holes, which are in order; `read_from(offset)` gives headers from there on.

    Reading goes on from hole to hole, and begins anew only where the next one is further away
    than what a new look-up costs.
    """
    headers: Iterator[BatchHeader] = iter(())
    header: BatchHeader | None = None
    position = -1
    for hole in holes:
        if header is None or hole.start > position + FAR_OFFSETS:
            headers = read_from(hole.start)
            header = next(headers, None)
        while header is not None and header.next_offset <= hole.start:
            header = next(headers, None)
        if hole.start == hole.end:
            if header is not None and header.magic == MAGIC_V2 and header.base_offset < hole.start:
                yield Found(CUT, header.base_offset, hole.start)
            position = hole.start
            continue
        while header is not None and header.base_offset < hole.end:
            if header.magic == MAGIC_V2:
                start = max(header.base_offset, hole.start)
                end = min(header.next_offset, hole.end)
                if what := _what_is_in(header):
                    yield Found(what, start, end)
            position = header.next_offset
            if header.next_offset >= hole.end:
                break
            header = next(headers, None)
        position = max(position, hole.end)


def _what_is_in(header: BatchHeader) -> str | None:
    """Why a batch may have no record at an offset; None for one that has a record at each.

    A record of that which did not come may still have been aborted, which reading all records
    shows; otherwise nothing explains it.
    """
    if header.is_control:
        return MARKER
    if header.record_count > header.last_offset_delta:
        return None
    return UNDECIDED if header.is_transactional else THINNED


@dataclass(frozen=True)
class Probe:
    """How executors get at the batches: from data directories if there are any, and the broker."""

    cluster: KafkaCluster
    log_dirs: Sequence[str] = ()

    def open(self) -> RawLog:
        if self.log_dirs:
            return SegmentsFirst(SegmentLog(self.log_dirs), self._open_broker)
        return self._open_broker()

    def _open_broker(self) -> RawLog:
        return BrokerLog(client_settings(self.cluster))


class SegmentsFirst:
    """Segment files as far as they can be read, and the broker from there on.

    A data directory of one broker has no replica of some partitions, and an old one of others.
    """

    def __init__(self, segments: RawLog, open_broker: Callable[[], RawLog]) -> None:
        self._segments, self._open_broker = segments, open_broker
        self._broker: RawLog | None = None

    def headers(
        self, topic: str, topic_id: str, partition: int, offset: int
    ) -> Iterator[BatchHeader]:
        try:
            for header in self._segments.headers(topic, topic_id, partition, offset):
                offset = header.next_offset
                yield header
        except UnreadableLog as error:
            reason = f"{error}; "
        else:
            reason = ""
        try:
            self._broker = self._broker or self._open_broker()
            yield from self._broker.headers(topic, topic_id, partition, offset)
        except UnreadableLog as error:
            raise UnreadableLog(f"{reason}{error}") from error

    def close(self) -> None:
        self._segments.close()
        if self._broker is not None:
            self._broker.close()


FOUND_SCHEMA = "part int, layer string, start bigint, end bigint, note string"


def probed(holes: DataFrame, probe: Probe) -> DataFrame:
    """What lies in holes (part, topic, topic_id, partition, start, end) as rows of FOUND_SCHEMA.

    `layer` is what `explain` says, or UNREAD with the reason as its note.
    """
    from pyspark.sql import functions as f

    place = f.floor(f.col("start") / f.lit(TASK_OFFSETS))
    tasks = holes.withColumn("task", place).repartition("part", "task")
    ordered = tasks.sortWithinPartitions("part", "start", "end")

    def find(batches: Iterator[Any]) -> Iterator[Any]:
        return _found_in(batches, probe)

    return ordered.mapInArrow(find, FOUND_SCHEMA)


def _found_in(batches: Iterator[Any], probe: Probe) -> Iterator[Any]:
    """One task's holes: rows in, rows out, a few thousand at a time."""
    found: list[tuple[Any, ...]] = []
    for row in _found_rows((row for batch in batches for row in batch.to_pylist()), probe):
        found.append(row)
        if len(found) == ROWS_AT_ONCE:
            yield _as_batch(found)
            found = []
    if found:
        yield _as_batch(found)


def _found_rows(rows: Iterable[Mapping[str, Any]], probe: Probe) -> Iterator[tuple[Any, ...]]:
    log: RawLog | None = None
    try:
        for part, holes in groupby(rows, key=_part_of):
            try:
                log = log or probe.open()
                for found in _in_part(log, part, holes):
                    yield (part[0], *found, None)
            except UnreadableLog as error:
                yield (part[0], UNREAD, 0, 0, str(error))
    finally:
        if log is not None:
            log.close()


def _part_of(row: Mapping[str, Any]) -> tuple[int, str, str, int]:
    return row["part"], row["topic"], row["topic_id"], row["partition"]


def _in_part(
    log: RawLog, part: tuple[int, str, str, int], rows: Iterable[Mapping[str, Any]]
) -> Iterator[Found]:
    _, topic, topic_id, partition = part
    holes = (Hole(row["start"], row["end"]) for row in rows)
    return explain(holes, lambda offset: log.headers(topic, topic_id, partition, offset))


def _as_batch(rows: list[tuple[Any, ...]]) -> Any:
    pa = import_module("pyarrow")  # it says nothing of its types
    schema = pa.schema(
        [
            ("part", pa.int32()),
            ("layer", pa.string()),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("note", pa.string()),
        ]
    )
    columns = list(zip(*rows, strict=True))
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
