"""The log against directories that Apache Kafka wrote: opened, recovered, and made again."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.batch.header import HEADER, MAGIC_V2, walk
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.storage.producers.snapshot import build_snapshot, parse_snapshot
from tests.storage.golden import CASES, manifest, unpack

NOW_MS = 1_700_000_000_000
CLEAN_CASES = [case for case in CASES if not case[1].startswith(("torn-0", "torn-1", "epochs-1"))]
VERSIONS = sorted({version for version, _ in CASES})


def partitions(version: str, case: str) -> list[str]:
    files = manifest(version, case)["files"]
    return sorted({str(Path(name).parent) for name in files if name.endswith(".log")})


def files_of(version: str, case: str, partition: str) -> dict[str, dict[str, Any]]:
    files = manifest(version, case)["files"]
    return {
        Path(name).name: facts for name, facts in files.items() if name.startswith(f"{partition}/")
    }


def log_start_offset(directory: Path) -> int:
    checkpoint = directory.parent / "log-start-offset-checkpoint"
    if checkpoint.is_file():
        for line in checkpoint.read_text().splitlines()[2:]:
            topic, partition, offset = line.split(" ")
            if f"{topic}-{partition}" == directory.name:
                return int(offset)
    return 0


def open_log(directory: Path, *, clean: bool = True, **settings: Any) -> Log:
    return Log.open(
        str(directory),
        directory.name,
        LogConfig(**({"index_interval_bytes": 100} | settings)),
        NOW_MS,
        clean_shutdown=clean,
        log_start_offset=log_start_offset(directory),
    )


def indexed(facts: dict[str, Any]) -> list[tuple[int, int]]:
    """The entries of an index; the dump tool shows one of zeros for a preallocated file."""
    return [(key, value) for key, value in facts.get("entries", []) if (key, value) != (0, 0)]


@pytest.mark.parametrize(("version", "case"), CLEAN_CASES)
def test_opens_and_equals_the_manifest(version: str, case: str, tmp_path: Path) -> None:
    root = unpack(version, case, tmp_path)
    for partition in partitions(version, case):
        log = open_log(root / partition)
        assert log.load_report.notes == []
        for name, facts in files_of(version, case, partition).items():
            check_file(log, root / partition / name, facts)
        log.close_files()


def check_file(log: Log, path: Path, facts: dict[str, Any]) -> None:
    if path.suffix in {".log", ".index", ".timeindex", ".txnindex"}:
        segment = log.segments.floor(int(path.name[:20]))
        assert segment is not None and segment.base_offset == int(path.name[:20])
        if path.suffix == ".log":
            assert segment.size_bytes == facts["bytes"]
            last = facts.get("batches", [])[-1:]
            if segment is log.active_segment and last and "lastOffset" in last[0]:
                assert log.log_end_offset == last[0]["lastOffset"] + 1
        elif path.suffix == ".index":
            assert segment.offset_index.entries() == indexed(facts)
        elif path.suffix == ".timeindex":
            assert segment.time_index.entries() == indexed(facts)
        else:
            aborted = segment.transaction_index.entries()
            assert [dump_aborted(entry) for entry in aborted] == facts["dump"]
    elif path.suffix == ".snapshot" and path.exists():
        check_snapshot(path, facts)


def dump_aborted(entry: Any) -> str:
    return (
        f"version: 0 producerId: {entry.producer_id} firstOffset: {entry.first_offset}"
        f" lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
    )


def check_snapshot(path: Path, facts: dict[str, Any]) -> None:
    entries = parse_snapshot(path.read_bytes())
    assert build_snapshot(entries) == path.read_bytes()
    dumped = [dict(zip(*[iter(line.split())] * 2, strict=False)) for line in facts.get("dump", [])]
    assert [entry.producer_id for entry in entries] == [int(row["producerId:"]) for row in dumped]
    assert [entry.epoch for entry in entries] == [int(row["producerEpoch:"]) for row in dumped]


@pytest.mark.parametrize(("version", "case"), CLEAN_CASES)
def test_reads_every_batch(version: str, case: str, tmp_path: Path) -> None:
    root = unpack(version, case, tmp_path)
    for partition in partitions(version, case):
        log = open_log(root / partition)
        log.update_high_watermark(log.log_end_offset)
        files = [path.read_bytes() for path in sorted((root / partition).glob("*.log"))]
        wanted = [
            bytes(content[header.position : header.end])
            for content in files
            for header in walk(content)
            if header.last_offset >= log.log_start_offset
        ]
        assert list(read_all(log)) == wanted


def read_all(log: Log) -> Iterator[bytes]:
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        records = log.read(offset, 1, bound=ReadBound.LOG_END).records
        if records is None:
            return
        batch = records.read()
        (header,) = walk(batch)
        assert header.last_offset >= offset
        yield batch
        offset = header.next_offset


@pytest.mark.parametrize("version", VERSIONS)
def test_a_clean_log_is_left_as_it_was(version: str, tmp_path: Path) -> None:
    for case in ("plain", "idempotent", "transactions", "codecs"):
        root = unpack(version, case, tmp_path)
        for partition in partitions(version, case):
            before = {path.name for path in (root / partition).iterdir()}
            open_log(root / partition).close()
            assert {path.name for path in (root / partition).iterdir()} == before
            for name, facts in files_of(version, case, partition).items():
                content = (root / partition / name).read_bytes()
                assert sha256(content).hexdigest() == facts["sha256"], name


@pytest.mark.parametrize("version", VERSIONS)
def test_recovers_to_what_kafka_recovered_to(version: str, tmp_path: Path) -> None:
    root = unpack(version, "torn-1-damaged", tmp_path)
    for partition in partitions(version, "torn-1-damaged"):
        log = open_log(root / partition, clean=False)
        log.close()
        wanted = files_of(version, "torn-2-recovered", partition)
        consumed = manifest(version, "torn-2-recovered")["consumed_offsets"]
        assert list(range(log.log_end_offset)) == consumed[partition.rpartition("-")[0]]
        assert {path.name for path in (root / partition).iterdir()} == set(wanted)
        for name, facts in wanted.items():
            if name.endswith((".log", ".index", ".timeindex", ".snapshot")):
                content = (root / partition / name).read_bytes()
                assert sha256(content).hexdigest() == facts["sha256"], f"{partition}/{name}"


REPLAYED = [
    (version, case, partition)
    for version in VERSIONS
    for case, partition in (
        ("plain", "plain-0"),
        ("plain", "plain-1"),
        ("idempotent", "idem-0"),
        ("transactions", "txn-0"),
        ("transactions", "txn-1"),
    )
]


def settings_of(version: str, case: str, topic: str) -> dict[str, str]:
    configs: dict[str, dict[str, str]] = manifest(version, case)["topic_configs"]
    return configs.get(topic, {})


@pytest.mark.parametrize(("version", "case", "partition"), REPLAYED)
def test_the_same_appends_make_the_same_files(
    version: str, case: str, partition: str, tmp_path: Path
) -> None:
    root = unpack(version, case, tmp_path)
    source = root / partition
    mine = tmp_path / "mine"
    mine.mkdir()
    config = LogConfig().with_settings(settings_of(version, case, partition.rpartition("-")[0]))
    log = Log.open(str(mine), partition, config, NOW_MS)
    for path in sorted(source.glob("*.log")):
        content = path.read_bytes()
        for header in walk(content):
            append_again(log, content[header.position : header.end], header)
    log.close()
    wanted = {
        name: facts["sha256"]
        for name, facts in files_of(version, case, partition).items()
        if name != "partition.metadata"
    }
    made = {path.name: sha256(path.read_bytes()).hexdigest() for path in mine.iterdir()}
    assert made == wanted


def append_again(log: Log, batch: bytes, header: Any) -> None:
    """As a producer sends it: offset 0, no leader epoch; markers as the coordinator does."""
    assert header.magic == MAGIC_V2
    buffer = bytearray(batch)
    fields = list(HEADER.unpack(batch[: HEADER.size]))
    fields[0], fields[2] = 0, -1
    HEADER.pack_into(buffer, 0, *fields)
    origin = AppendOrigin.COORDINATOR if header.is_control else AppendOrigin.CLIENT
    info = log.append_as_leader(
        memoryview(buffer), header.partition_leader_epoch, NOW_MS, origin=origin
    )
    assert (info.first_offset, info.last_offset) == (header.base_offset, header.last_offset)
