"""Every directory that Apache Kafka wrote, opened by a log manager as a broker opens it.

What the logs then say (records, headers, timestamps, codecs, producers, transactions, epochs,
checkpoints) is held against the manifests, which are Kafka's own tools' word and the clients'.
`test_log_golden.py` has the files themselves.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.directory import checkpoints, clean_marker
from barnabas.storage.directory.partition_metadata import topic_id_text
from barnabas.storage.directory_names import TopicPartition, parse_name
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from tests.storage.golden import CASES, manifest, unpack
from tests.storage.golden_batches import golden_bytes
from tests.storage.golden_facts import (
    facts_of,
    producers_of,
    record_facts,
    wanted_facts,
    wanted_records,
)
from tests.storage.golden_managers import CLEAN, NOW_MS, SOUND, batches_of, files_of, opened


@pytest.mark.parametrize(("version", "case"), CLEAN)
def test_batches_and_records_are_the_manifests(version: str, case: str, tmp_path: Path) -> None:
    for root, manager in opened(version, case, tmp_path):
        for log in manager:
            assert log.load_report.notes == []
            said = [
                batch
                for name, facts in sorted(files_of(root, log, version, case).items())
                if name.endswith(".log")
                for batch in facts.get("batches", [])
                if batch.get("lastOffset", batch.get("offset")) >= log.log_start_offset
            ]
            found = list(batches_of(log))
            assert len(found) == len(said)
            for (data, header), batch in zip(found, said, strict=True):
                assert facts_of(header) == wanted_facts(batch)
                records = [record_facts(record, header) for record in decode_batch(data, header)]
                assert records == wanted_records(batch, records)


WITH_CLIENTS = [
    (version, case)
    for version, case in CLEAN
    if manifest(version, case)["sent"] and not case.startswith("epochs")
]


@pytest.mark.parametrize(("version", "case"), WITH_CLIENTS)
def test_records_are_what_clients_sent(version: str, case: str, tmp_path: Path) -> None:
    sent = sent_rows(version, case)
    seen = 0
    for _, manager in opened(version, case, tmp_path):
        for log in manager:
            for data, header in batches_of(log):
                for record in decode_batch(data, header):
                    row = sent.get((log.partition, record.offset))
                    if row is not None and not header.is_control:
                        check_sent(record, row, header)
                        seen += 1
    assert seen > 3


def sent_rows(version: str, case: str) -> dict[tuple[TopicPartition, int], dict[str, Any]]:
    return {
        (TopicPartition(row["topic"], row["partition"]), row["offset"]): row
        for row in manifest(version, case)["sent"]
        if row["offset"] is not None
    }


def check_sent(record: Record, row: dict[str, Any], header: BatchHeader) -> None:
    assert record.key == golden_bytes(row["key"])
    assert record.value == golden_bytes(row["value"])
    headers = [(key.encode(), value) for key, value in record.headers]
    said = row.get("headers") or []
    assert headers == [(golden_bytes(key), golden_bytes(value)) for key, value in said]
    if not header.is_log_append_time and record.timestamp != -1 and row["timestamp"] is not None:
        assert record.timestamp == row["timestamp"]


@pytest.mark.parametrize(("version", "case"), CLEAN)
def test_producers_and_epochs_are_the_manifests(version: str, case: str, tmp_path: Path) -> None:
    for root, manager in opened(version, case, tmp_path):
        for log in manager:
            files = files_of(root, log, version, case)
            newest = files.get(f"{log.log_end_offset:020}.snapshot")
            if log.log_start_offset == log.log_end_offset:
                assert producers_of(log) == []  # Kafka too drops snapshots below the log's start
            elif newest is not None:
                assert producers_of(log) == sorted(newest.get("dump", []))
            epochs = files.get("leader-epoch-checkpoint")
            if epochs is not None:
                lines = [f"{epoch} {start}" for epoch, start in log.epochs.entries()]
                assert lines == kept_epochs(epochs["text"][2:], log)
            text = files["partition.metadata"]["text"]
            topic_id = manager.topic_id(log.partition)
            assert topic_id is not None
            assert text == ["version: 0", f"topic_id: {topic_id_text(topic_id)}"]


def kept_epochs(lines: list[str], log: Log) -> list[str]:
    """Kafka drops what begins at the log's end when it opens a log, and notes it again."""
    return [line for line in lines if int(line.split()[1]) < log.log_end_offset]


@pytest.mark.parametrize("version", sorted({version for version, _ in CASES}))
def test_committed_records_are_those_of_committed_transactions(
    version: str, tmp_path: Path
) -> None:
    sent = sent_rows(version, "transactions")
    committed = {place for place, row in sent.items() if row["outcome"] in ("commit", "plain")}
    assert 0 < len(committed) < len(sent)
    for _, manager in opened(version, "transactions", tmp_path):
        found = {
            (log.partition, record.offset) for log in manager for record in committed_records(log)
        }
    assert found == committed


def committed_records(log: Log) -> Iterator[Record]:
    """As a consumer takes them: it leaves out a producer from its first aborted offset on, up
    to the marker."""
    offset, aborted = log.log_start_offset, {}
    while True:
        result = log.read(offset, 1, bound=ReadBound.LAST_STABLE)
        if result.records is None:
            return
        data = result.records.read()
        (header,) = walk(data)
        aborted |= {
            producer: first
            for producer, first in result.aborted_transactions or []
            if first <= header.last_offset and first >= header.base_offset
        }
        if header.is_control:
            aborted.pop(header.producer_id, None)
        elif not (header.is_transactional and header.producer_id in aborted):
            yield from decode_batch(data, header)
        offset = header.next_offset


@pytest.mark.parametrize(("version", "case"), [each for each in CASES if each[1] == "logdir"])
def test_checkpoints_are_read(version: str, case: str, tmp_path: Path) -> None:
    root = unpack(version, case, tmp_path)
    for name, facts in manifest(version, case)["files"].items():
        if name.endswith("checkpoint") and "text" in facts:
            offsets = checkpoints.read_offsets(REAL, str(root / name))
            lines = [f"{topic} {number} {offset}" for (topic, number), offset in offsets.items()]
            assert lines == facts["text"][2:]


@pytest.mark.parametrize(("version", "case"), [each for each in CASES if each[1] == "logstart"])
def test_log_starts_and_high_watermarks_come_from_the_checkpoints(
    version: str, case: str, tmp_path: Path
) -> None:
    root = unpack(version, case, tmp_path)
    starts = checkpoints.read_offsets(REAL, str(root / checkpoints.LOG_START))
    assert starts
    clean_marker.mark(REAL, str(root))
    manager = LogManager([str(root)])
    manager.open(lambda topic: LogConfig(), NOW_MS)
    marks = checkpoints.read_offsets(REAL, str(root / checkpoints.REPLICATION))
    for log in manager:
        base = log.segments.first.base_offset
        assert log.log_start_offset == max(starts.get(log.partition, 0), base)
        assert log.high_watermark == marks.get(log.partition, log.log_start_offset)
    manager.abandon()


@pytest.mark.parametrize(("version", "case"), SOUND)
def test_a_log_that_was_not_closed_loses_nothing(version: str, case: str, tmp_path: Path) -> None:
    """Recovery from offset 0 of what is sound: every batch stays, indexes are found good."""
    for root, manager in opened(version, case, tmp_path, clean=False):
        for log in manager:
            assert log.load_report.truncated_bytes == 0
            assert log.load_report.dropped_segments == []
            for name, facts in files_of(root, log, version, case).items():
                if name.endswith(".log"):
                    content = (Path(log.directory) / name).read_bytes()
                    assert sha256(content).hexdigest() == facts["sha256"], name


def test_every_partition_of_every_case_is_opened(tmp_path: Path) -> None:
    """None of the tests above may pass for want of logs."""
    for version, case in CLEAN:
        for root, manager in opened(version, case, tmp_path):
            names = {log.topic_partition for log in manager}
            (directory,) = manager.directories
            there = {
                Path(name).parent.name
                for name in manifest(version, case)["files"]
                if (root / name).is_relative_to(directory.path)
            }
            assert names == {name for name in there if parse_name(name) is not None}


def test_a_follower_that_went_astray_is_healed_as_kafka_healed_it(tmp_path: Path) -> None:
    """Broker 1 truncates to where its epochs and the new leader's part, then follows (KIP-101)."""
    before = unpack("3.9.1", "epochs-1-diverged", tmp_path)
    after = unpack("3.9.1", "epochs-2-healed", tmp_path)
    leader = open_log(after / "b2" / "div-0")
    follower = open_log(before / "b1" / "div-0", clean=False)
    assert follower.log_end_offset == 7
    epoch, end_offset = leader.lookup.end_offset_for_epoch(follower.epochs.latest_epoch)
    assert (epoch, end_offset) == (0, 3)
    _, own_end_offset = follower.lookup.end_offset_for_epoch(epoch)
    follower.truncate_to(min(end_offset, own_end_offset), NOW_MS)
    for data, header in batches_of(leader):
        if header.base_offset >= follower.log_end_offset:
            follower.append_as_follower(data, NOW_MS)
    follower.close()
    healed = after / "b1" / "div-0"
    for name in ("00000000000000000000.log", "00000000000000000000.timeindex"):
        assert (before / "b1" / "div-0" / name).read_bytes() == (healed / name).read_bytes()
    own_epochs = (before / "b1" / "div-0" / "leader-epoch-checkpoint").read_text().split("\n")[2:]
    assert own_epochs == ["0 0", "3 3", "4 5", ""]


def open_log(directory: Path, *, clean: bool = True) -> Log:
    log = Log.open(
        str(directory),
        directory.name,
        LogConfig(index_interval_bytes=100),
        NOW_MS,
        clean_shutdown=clean,
    )
    log.update_high_watermark(log.log_end_offset)
    return log
