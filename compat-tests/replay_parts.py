"""Lakes made of records at hand, and topics read back: what tests of `replay` compare."""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from barnabas.pipeline.lake.entries import Entry, Held, LandedFile, to_json
from barnabas.pipeline.lake.folders import LocalFolder

Headers = tuple[tuple[str, bytes | None], ...]
CLUSTER_ID = "of-the-source"
PATIENCE_S = 120.0
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Content(NamedTuple):
    """What a replay keeps of a record beside its place."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Placed(NamedTuple):
    """A record of the source."""

    partition: int
    offset: int
    content: Content


def make_lake(
    folder: Path, topic: str, records: Sequence[Placed], topic_id: str = "b2Ygc291cmNl"
) -> None:
    """Land records: one file per partition and day, one entry for all."""
    files = []
    by_place: dict[tuple[int, str], list[Placed]] = {}
    for record in records:
        by_place.setdefault((record.partition, _date(record)), []).append(record)
    for (partition, date), placed in by_place.items():
        path = f"topic={topic}/date={date}/{partition}-{uuid.uuid4().hex}.parquet"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_table(placed, topic_id), folder / path)
        offsets = [record.offset for record in placed]
        held = {partition: Held(min(offsets), max(offsets), len(placed))}
        size = (folder / path).stat().st_size
        files.append(LandedFile(path, len(placed), size, topic_id, held))
    ranges: dict[int, tuple[int, int]] = {}
    for record in records:
        start, end = ranges.get(record.partition, (record.offset, 0))
        ranges[record.partition] = (min(start, record.offset), max(end, record.offset + 1))
    landing = uuid.uuid4().hex
    entry = Entry(
        landing, 0, CLUSTER_ID, 0, {topic: topic_id}, {topic: ranges}, tuple(files), ()
    )  # fmt: skip
    assert LocalFolder(folder).publish(entry.path, to_json(entry))


def _date(record: Placed) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(
        milliseconds=record.content.timestamp_ms
    )
    return moment.date().isoformat()


def _table(placed: Sequence[Placed], topic_id: str) -> pa.Table:
    count = len(placed)
    headers = [
        [{"key": name, "value": value} for name, value in record.content.headers] or None
        for record in placed
    ]
    stamps = [record.content.timestamp_ms * 1000 for record in placed]
    return pa.table(
        {
            "topic_id": pa.array([topic_id] * count),
            "partition": pa.array([record.partition for record in placed], pa.int32()),
            "offset": pa.array([record.offset for record in placed], pa.int64()),
            "timestamp": pa.array(stamps, pa.timestamp("us", "UTC")),
            "timestamp_type": pa.array([0] * count, pa.int32()),
            "key": pa.array([record.content.key for record in placed], pa.binary()),
            "value": pa.array([record.content.value for record in placed], pa.binary()),
            "headers": pa.array(headers, HEADERS),
            "leader_epoch": pa.array([0] * count, pa.int32()),
            "landed_at": pa.array([0] * count, pa.timestamp("us", "UTC")),
            "schema_id": pa.array([None] * count, pa.int32()),
        }
    )


def contents_by_partition(records: Iterable[Placed], partitions: int) -> list[list[Content]]:
    """What each partition of a faithful copy holds, in order."""
    found: list[list[Content]] = [[] for _ in range(partitions)]
    for record in sorted(records, key=lambda each: (each.partition, each.offset)):
        found[record.partition].append(record.content)
    return found


def read_back(address: str, topic: str, partitions: int) -> list[list[Content]]:
    """What each partition of a topic holds for a read_committed consumer, in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reads-back",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(partitions)])
    found: list[list[Content]] = [[] for _ in range(partitions)]
    open_ones = set(range(partitions))
    deadline = time.monotonic() + PATIENCE_S
    while open_ones:
        assert time.monotonic() < deadline, f"{topic} is not at its end"
        for message in consumer.consume(10_000, 0.1):
            partition = message.partition()
            assert partition is not None
            error = message.error()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    open_ones.discard(partition)
                continue
            headers = tuple((name, value) for name, value in message.headers() or ())
            stamp = message.timestamp()[1]
            found[partition].append(Content(stamp, message.key(), message.value(), headers))
    consumer.close()
    return found
