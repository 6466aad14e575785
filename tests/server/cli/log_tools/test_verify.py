"""`barnabas log verify`: silent about what is sound, and naming what is not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.server.cli.log_tools.verify_records import batch_problem
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import HEADER, parse_header
from barnabas.storage.batch.records import Record
from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.disk.fs import REAL
from barnabas.storage.producers.snapshot import build_snapshot, parse_snapshot
from tests.server.cli.log_tools.command import Row, data_directories, run_log
from tests.server.cli.log_tools.written import contents, segment_files, write_log
from tests.storage.golden import CASES, unpack

DAMAGED = "torn-1-damaged"
VERSIONS = sorted({version for version, _ in CASES})


def problems(path: Path, *options: str) -> list[Row]:
    """What is wrong in a directory; the exit code says the same as the summary."""
    before = contents(path)
    ran = run_log("verify", path, "--json", *options)
    *found, summary = ran.rows
    assert summary["problems"] == len(found)
    assert ran.code == (1 if found else 0)
    assert contents(path) == before
    return found


@pytest.mark.parametrize(("version", "case"), [case for case in CASES if case[1] != DAMAGED])
@pytest.mark.parametrize("options", [(), ("--shallow",)])
def test_finds_nothing_in_what_kafka_wrote(
    version: str, case: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    for directory in data_directories(unpack(version, case, tmp_path)):
        assert problems(directory, *options) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_names_the_damage(version: str, tmp_path: Path) -> None:
    found = {row["file"]: row for row in problems(unpack(version, DAMAGED, tmp_path))}
    log = "00000000000000000000.log"
    assert set(found) == {
        *(f"torn-{what}-0/{log}" for what in ("crc", "cut", "zeros", "segments")),
        "torn-index-0/00000000000000000000.index",
        "torn-snapshot-0/00000000000000000008.snapshot",
    }
    assert "CRC" in found[f"torn-crc-0/{log}"]["reason"]
    assert found[f"torn-crc-0/{log}"]["offset"] == 10
    assert found[f"torn-cut-0/{log}"]["position"] == 470
    assert found[f"torn-cut-0/{log}"]["reason"].startswith("91 bytes at the end are no whole")
    assert found[f"torn-zeros-0/{log}"]["reason"] == "500 bytes at the end are zeros"
    assert found[f"torn-segments-0/{log}"]["offset"] == 6


def test_times_before_1970_are_as_kafka_has_them() -> None:
    # Kafka's validator begins at -1 when it looks for the largest time of a batch.
    batch = bytearray(build_batch([Record(0, -7, None, b"old"), Record(1, -5, None, b"older")]))
    for max_timestamp, is_well in ((-5, True), (-1, True), (-4, False), (0, False)):
        batch[35:43] = max_timestamp.to_bytes(8, "big", signed=True)
        batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
        problem = batch_problem(bytes(batch), parse_header(batch, 0), shallow=False)
        assert (problem is None) == is_well, problem


def test_a_broker_that_has_the_directory_is_mentioned(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    write_log(directory)
    lock = DirectoryLock(REAL, str(tmp_path))
    words = f"{directory} is in use by a broker: what it is writing may be taken for damage"
    for is_held in (True, False):
        ran = run_log("verify", directory)
        assert (ran.code, words in ran.errors) == (0, is_held)
        lock.release()


# --- our own, damaged one way at a time ----------------------------------------------------


def patch(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def change_header(path: Path, position: int, **fields: int) -> None:
    """Change a batch's header and give it the CRC of its new bytes."""
    content = bytearray(path.read_bytes())
    names = (
        "base_offset size leader_epoch magic crc attributes last_offset_delta base_timestamp"
        " max_timestamp producer_id producer_epoch base_sequence record_count"
    ).split()
    values = dict(zip(names, HEADER.unpack_from(content, position), strict=True)) | fields
    HEADER.pack_into(content, position, *values.values())
    crc = crc32c(memoryview(content)[position + 21 : position + 12 + values["size"]])
    content[position + 17 : position + 21] = crc.to_bytes(4)
    path.write_bytes(content)


def flip_a_bit(directory: Path) -> None:
    path = segment_files(directory, "log")[0]
    patch(path, 160, bytes([path.read_bytes()[160] ^ 4]))


def repeat_an_offset(directory: Path) -> None:
    change_header(segment_files(directory, "log")[0], 164, base_offset=1)


def lie_about_the_count(directory: Path) -> None:
    change_header(segment_files(directory, "log")[0], 82, record_count=2, last_offset_delta=1)


def lie_about_the_timestamp(directory: Path) -> None:
    change_header(segment_files(directory, "log")[1], 0, max_timestamp=1)


def give_another_epoch(directory: Path) -> None:
    change_header(segment_files(directory, "log")[0], 82, leader_epoch=1)


def begin_below_the_base(directory: Path) -> None:
    change_header(segment_files(directory, "log")[1], 0, base_offset=5)


def point_into_a_batch(directory: Path) -> None:
    patch(segment_files(directory, "index")[0], 0, (2).to_bytes(4) + (170).to_bytes(4))


def point_at_a_later_batch(directory: Path) -> None:
    patch(segment_files(directory, "index")[0], 0, (1).to_bytes(4) + (164).to_bytes(4))


def point_behind_the_end(directory: Path) -> None:
    patch(segment_files(directory, "index")[0], 16, (6).to_bytes(4) + (5000).to_bytes(4))


def let_an_index_fall(directory: Path) -> None:
    patch(segment_files(directory, "index")[0], 8, (1).to_bytes(4))


def give_another_time(directory: Path) -> None:
    patch(segment_files(directory, "timeindex")[0], 7, b"\x03")


def shorten_the_time_index(directory: Path) -> None:
    path = segment_files(directory, "timeindex")[0]
    path.write_bytes(path.read_bytes()[:12])


def cut_an_index_entry(directory: Path) -> None:
    path = segment_files(directory, "timeindex")[2]
    path.write_bytes(path.read_bytes()[:-5])


def lose_an_index(directory: Path) -> None:
    segment_files(directory, "index")[1].unlink()


def lose_a_log(directory: Path) -> None:
    segment_files(directory, "log")[0].unlink()


def lose_a_segment(directory: Path) -> None:
    for path in directory.glob("00000000000000000007.*"):
        path.unlink()


def lose_the_aborted(directory: Path) -> None:
    segment_files(directory, "txnindex")[0].write_bytes(b"")


def lose_the_transaction_index(directory: Path) -> None:
    segment_files(directory, "txnindex")[0].unlink()


def abort_another(directory: Path) -> None:
    patch(segment_files(directory, "txnindex")[0], 2, (9).to_bytes(8))


def damage_a_snapshot(directory: Path) -> None:
    patch(segment_files(directory, "snapshot")[1], 20, b"\xff\xff")


def forget_a_batch_in_a_snapshot(directory: Path) -> None:
    path = segment_files(directory, "snapshot")[-1]
    entries = parse_snapshot(path.read_bytes())
    sequence, offset, delta, timestamp = entries[0].batches[-1]
    entries[0].batches = [(sequence - 1, offset - 1, delta, timestamp)]
    path.write_bytes(build_snapshot(entries))


def name_a_snapshot_too_high(directory: Path) -> None:
    path = segment_files(directory, "snapshot")[-1]
    path.rename(path.with_name("00000000000000000050.snapshot"))


def let_epochs_fall(directory: Path) -> None:
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n2 0\n1 10\n")


def begin_an_epoch_too_high(directory: Path) -> None:
    (directory / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n2 10\n3 90\n")


def miscount_epochs(directory: Path) -> None:
    (directory / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n")


def empty_epochs(directory: Path) -> None:
    (directory / "leader-epoch-checkpoint").write_bytes(b"")


def leave_a_swap_file(directory: Path) -> None:
    (directory / "00000000000000000000.log.swap").write_bytes(b"")


def spoil_the_metadata(directory: Path) -> None:
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: short")


DAMAGES: list[tuple[Callable[[Path], None], str, str]] = [
    (flip_a_bit, "00.log", "CRC"),
    (repeat_an_offset, "00.log", "offset 1 does not come after 1"),
    (lie_about_the_count, "00.log", "record"),
    (lie_about_the_timestamp, "07.log", "max timestamp is 1, the records' 17000000"),
    (give_another_epoch, "00.log", "leader epoch 1 where the checkpoint has 0, from 0 on"),
    (begin_below_the_base, "07.log", "below the segment's base offset 7"),
    (point_into_a_batch, "00.index", "inside a batch at 170"),
    (point_at_a_later_batch, "00.index", "offset 1 is said to be where 2 is at 164"),
    (point_behind_the_end, "00.index", "behind the end of the log at 5000"),
    (let_an_index_fall, "00.index", "entry 1 does not rise"),
    (give_another_time, "00.timeindex", "offset 2 has timestamp 1700000000002, not"),
    (shorten_the_time_index, "00.timeindex", "it ends with 1700000000002, the segment's largest"),
    (cut_an_index_entry, "14.timeindex", "7 bytes are not whole entries"),
    (lose_an_index, "07.log", "no .index file"),
    (lose_a_log, "00.index", "without its log"),
    (lose_a_segment, "14.log", "the segment before it ends at 7: offsets are missing"),
    (lose_the_aborted, "14.txnindex", "producer 8 aborted is missing"),
    (lose_the_transaction_index, "14.log", "is in no transaction index"),
    (abort_another, "14.txnindex", "producer 9 from 18 is said to be aborted"),
    (damage_a_snapshot, "14.snapshot", "wrong CRC"),
    (forget_a_batch_in_a_snapshot, "22.snapshot", "in the log epoch 0, last sequence 3"),
    (name_a_snapshot_too_high, "50.snapshot", "above the log's end, 22"),
    (let_epochs_fall, "leader-epoch-checkpoint", "does not come after"),
    (begin_an_epoch_too_high, "leader-epoch-checkpoint", "above the log's end 22"),
    (miscount_epochs, "leader-epoch-checkpoint", "damaged"),
    (empty_epochs, "leader-epoch-checkpoint", "empty, though the log has records"),
    (leave_a_swap_file, "00.log.swap", "compaction that did not finish"),
    (spoil_the_metadata, "partition.metadata", "no topic id"),
]


@pytest.mark.parametrize(
    ("damage", "file", "reason"), DAMAGES, ids=lambda each: getattr(each, "__name__", "")
)
def test_says_what_is_wrong_where(
    damage: Callable[[Path], None], file: str, reason: str, tmp_path: Path
) -> None:
    directory = tmp_path / "orders-0"
    write_log(directory)
    assert problems(directory) == []
    damage(directory)
    found = problems(directory)
    assert any(row["file"].endswith(file) and reason in row["reason"] for row in found), found


def test_looks_at_a_data_directory(tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0")
    write_log(tmp_path / "orders-1")
    (tmp_path / "orders-0" / "partition.metadata").write_text(
        "version: 0\ntopic_id: _0Ok64bRT7Cx-VWDU1ywHw"
    )
    (tmp_path / "orders-1" / "partition.metadata").write_text(
        "version: 0\ntopic_id: ouPF4lXGR-SpRkx-dQrDgQ"
    )
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n2\norders 0 22\norders 1 23\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\ngone 0 99\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("nonsense\n")
    (tmp_path / "meta.properties").write_text("version=7\n")
    assert {row["file"]: row["reason"].partition(":")[0] for row in problems(tmp_path)} == {
        "orders-1/partition.metadata": "another topic id than that of the topic's other partitions",
        "recovery-point-offset-checkpoint": "orders-1 has 23, its log ends at 22",
        "log-start-offset-checkpoint": "damaged",
        "meta.properties": "damaged",
    }


def test_leader_epochs_of_a_log_without_records_are_an_empty_file(tmp_path: Path) -> None:
    """Apache Kafka makes the file with the log, and writes it with the first record."""
    (tmp_path / "orders-0").mkdir()
    for name in ("00000000000000000000.log", "leader-epoch-checkpoint"):
        (tmp_path / "orders-0" / name).touch()
    assert problems(tmp_path / "orders-0") == []


def test_shallow_does_not_look_at_records(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    write_log(directory)
    lie_about_the_timestamp(directory)
    reasons = [row["reason"] for row in problems(directory, "--shallow")]
    assert not [reason for reason in reasons if "records'" in reason]


def test_sentences(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    write_log(directory)
    assert run_log("verify", tmp_path).output == (
        "no problems (1 partitions, 3 segments, 18 batches)\n"
    )
    flip_a_bit(directory)
    ran = run_log("verify", tmp_path)
    assert ran.code == 1
    assert ran.output.splitlines()[0] == (
        "orders-0/00000000000000000000.log at position 82, offset 1:"
        " the batch does not have the CRC of its bytes"
    )


@pytest.mark.parametrize("name", ["missing", "file", "empty"])
def test_bad_input(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    ran = run_log("verify", tmp_path / name)
    assert (ran.code, ran.output) == (2, "")
    assert ran.errors.startswith(f"barnabas: {tmp_path / name}: ")
    assert ran.errors.count("\n") == 1
