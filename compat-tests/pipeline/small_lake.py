"""A lake written by hand, without Spark: what a landing leaves, in a tenth of a second.

Tests of what reads a lake begin with it and damage it where they want to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, IsolationLevel, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from barnabas.pipeline.lake.entries import Entry, Held, LandedFile, entry_path, from_json, to_json

PATIENCE_S = 30.0
LANDING = "by-hand"
URL_SAFE = str.maketrans("+/", "-_", "=")
SCHEMA = pa.schema(
    [
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_type", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
        ("leader_epoch", pa.int32()),
        ("landed_at", pa.timestamp("us", "UTC")),
        ("schema_id", pa.int32()),
    ]
)


class SmallLake:
    """A lake in a folder, landed from one broker."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self._address = address
        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self.cluster_id = str(self._admin.describe_cluster().result(PATIENCE_S).cluster_id)
        self._batch = 0

    def land(self, topic: str, *, starts: dict[int, int] | None = None) -> Entry:
        """Land the committed records of a topic, from its log starts (or `starts`) on."""
        topic_id, partitions = self._described(topic)
        rows: list[dict[str, Any]] = []
        ranges: dict[int, tuple[int, int]] = {}
        for partition in partitions:
            place = TopicPartition(topic, partition)
            start = (starts or {}).get(partition, self._offset(place, OffsetSpec.earliest()))
            end = self._offset(place, OffsetSpec.latest())
            ranges[partition] = (start, end)
            found = read_committed(self._address, topic, partition, start, end)
            rows += [row_of(message, topic_id) for message in found]
        entry = Entry(
            LANDING,
            self._batch,
            self.cluster_id,
            time.time_ns() // 1_000_000,
            {topic: topic_id},
            {topic: ranges},
            tuple(self._write(topic, topic_id, rows)),
        )
        self.publish(entry)
        self._batch += 1
        return entry

    def _described(self, topic: str) -> tuple[str, list[int]]:
        found = self._admin.describe_topics(TopicCollection([topic]))[topic].result(PATIENCE_S)
        topic_id = str(found.topic_id).translate(URL_SAFE)  # librdkafka prints the other alphabet
        return topic_id, sorted(each.id for each in found.partitions)

    def _offset(self, place: TopicPartition, spec: OffsetSpec) -> int:
        answers = self._admin.list_offsets(
            {place: spec}, isolation_level=IsolationLevel.READ_COMMITTED
        )
        return int(answers[place].result(PATIENCE_S).offset)

    def _write(
        self, topic: str, topic_id: str, rows: Sequence[dict[str, Any]]
    ) -> Iterator[LandedFile]:
        dates = sorted({row["timestamp"].date() for row in rows})
        for number, date in enumerate(dates):
            chosen = [row for row in rows if row["timestamp"].date() == date]
            path = f"topic={topic}/date={date}/{LANDING}-{self._batch}-{number}.parquet"
            self.write(path, chosen)
            yield self.described_file(path, topic_id, chosen)

    def write(self, path: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write a file of rows."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(rows), SCHEMA), self.folder / path)

    def described_file(
        self, path: str, topic_id: str, rows: Sequence[dict[str, Any]]
    ) -> LandedFile:
        """What an entry says of a file of rows."""
        offsets = {
            partition: [row["offset"] for row in rows if row["partition"] == partition]
            for partition in sorted({row["partition"] for row in rows})
        }
        held = {number: Held(min(each), max(each), len(each)) for number, each in offsets.items()}
        return LandedFile(path, len(rows), (self.folder / path).stat().st_size, topic_id, held)

    def publish(self, entry: Entry) -> None:
        """Write an entry, over what was there."""
        path = self.folder / entry_path(entry.landing_id, entry.batch)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_json(entry))

    # --- damage ----------------------------------------------------------------------------

    def rewrite(self, entry: Entry, change: Any) -> None:
        """Write the entry's first file again, its rows changed by `change(rows)`."""
        path = self.folder / entry.added[0].path
        rows = pq.read_table(path, partitioning=None).to_pylist()
        pq.write_table(pa.Table.from_pylist(change(rows), SCHEMA), path)

    def add_to_entry(self, entry: Entry, *files: LandedFile) -> None:
        """Let an entry name more files."""
        path = self.folder / entry.path
        stored = from_json(path.read_text())
        path.write_text(to_json(replace(stored, added=(*stored.added, *files))))


def read_committed(address: str, topic: str, partition: int, start: int, end: int) -> list[Message]:
    """The committed records of [start, end), in order."""
    settings = {"bootstrap.servers": address, "group.id": "by-hand", "log_level": 0}
    consumer = Consumer(
        settings | {"isolation.level": "read_committed", "enable.partition.eof": False}
    )
    try:
        consumer.assign([TopicPartition(topic, partition, start)])
        found: list[Message] = []
        deadline = time.monotonic() + PATIENCE_S
        while start < end and _position(consumer, topic, partition) < end:
            assert time.monotonic() < deadline, f"{topic}-{partition}: {len(found)} records came"
            found += [each for each in consumer.consume(1000, 0.1) if each.error() is None]
        return [each for each in found if (each.offset() or 0) < end]
    finally:
        consumer.close()


def _position(consumer: Consumer, topic: str, partition: int) -> int:
    return int(consumer.position([TopicPartition(topic, partition)])[0].offset)


def row_of(message: Message, topic_id: str) -> dict[str, Any]:
    """A record as a row of the lake."""
    kind, timestamp_ms = message.timestamp()
    headers = message.headers()
    return {
        "topic_id": topic_id,
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": datetime.fromtimestamp(timestamp_ms / 1000, UTC),
        "timestamp_type": 1 if kind == 2 else 0,
        "key": message.key(),
        "value": message.value(),
        "headers": [{"key": key, "value": value} for key, value in headers] if headers else None,
        "leader_epoch": message.leader_epoch(),
        "landed_at": datetime.now(UTC),
        "schema_id": None,
    }
