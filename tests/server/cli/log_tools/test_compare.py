"""`barnabas log verify --compare`: replicas that are the same, and the first place where not."""

import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import HEADER, walk
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log.log import Log
from tests.server.cli.log_tools.command import Row, run_log
from tests.server.cli.log_tools.written import CONFIG, NOW_MS, contents, record, write_log

ORDERS = TopicPartition("orders", 0)
BROKERS = ("a", "b", "c")
Diverge = Callable[[Path], None]
"""Makes one broker's data directory unlike the others."""


@pytest.fixture
def brokers(tmp_path: Path) -> list[Path]:
    """Data directories of three brokers that hold one partition of 22 offsets, all alike."""
    write_log(tmp_path / "a" / "orders-0")
    for name in BROKERS[1:]:
        shutil.copytree(tmp_path / "a", tmp_path / name)
    return [tmp_path / name for name in BROKERS]


def compared(brokers: list[Path]) -> tuple[list[Row], list[Row]]:
    """Differences, and what was compared; the exit code says the same as the summary."""
    before = [contents(path) for path in brokers]
    ran = run_log("verify", "--compare", "--json", *brokers)
    *rows, summary = ran.rows
    assert [contents(path) for path in brokers] == before
    differences = [row for row in rows if row["type"] == "difference"]
    assert summary["differences"] == len(differences)
    assert ran.code == (1 if differences else 0)
    return differences, [row for row in rows if row["type"] == "partition"]


def reopen(broker: Path, segment_bytes: int = CONFIG.segment_bytes) -> Log:
    config = replace(CONFIG, segment_bytes=segment_bytes)
    return Log.open(str(broker / "orders-0"), "orders-0", config, NOW_MS)


def close(log: Log) -> None:
    log.close()
    log.close_files()


def append(broker: Path, value: bytes, leader_epoch: int = 2) -> None:
    log = reopen(broker)
    batch = build_batch([record(1, value)])
    log.append_as_leader(memoryview(batch), leader_epoch, NOW_MS)
    close(log)


def truncate(broker: Path, offset: int) -> None:
    log = reopen(broker)
    log.truncate_to(offset, NOW_MS)
    close(log)


def copy_with_other_segments(source: Path, target: Path) -> None:
    """The same batches in one segment."""
    data = b"".join(path.read_bytes() for path in sorted((source / "orders-0").glob("*.log")))
    for path in (target / "orders-0").iterdir():
        path.unlink()
    log = reopen(target, segment_bytes=1 << 20)
    log.append_as_follower(memoryview(bytearray(data)), NOW_MS)
    close(log)


# --- the same ------------------------------------------------------------------------------


def test_replicas_that_are_the_same_are_compared_by_their_segments(brokers: list[Path]) -> None:
    assert compared(brokers) == (
        [],
        [
            {
                "type": "partition",
                "topic": "orders",
                "partition": 0,
                "start_offset": 0,
                "end_offset": 22,
                "compared": "segments",
                "directories": [str(path) for path in brokers],
                "log_end_offsets": [22, 22, 22],
            }
        ],
    )


def test_where_segments_begin_elsewhere_the_batches_are_compared(brokers: list[Path]) -> None:
    copy_with_other_segments(brokers[0], brokers[2])
    differences, (partition,) = compared(brokers)
    assert (differences, partition["compared"]) == ([], "batches")
    lines = run_log("verify", "--compare", *brokers).output.splitlines()
    assert lines[0].startswith("orders-0: compared by batches, segments begin at ")
    assert lines[0].endswith(f"{brokers[2]}: 0")


def test_what_only_some_replicas_have_yet_does_not_matter(brokers: list[Path]) -> None:
    append(brokers[0], b"new")
    truncate(brokers[1], 16)
    differences, (partition,) = compared(brokers)
    assert differences == []
    assert (partition["end_offset"], partition["log_end_offsets"]) == (14, [23, 14, 22])


def test_what_some_replicas_have_deleted_does_not_matter(brokers: list[Path]) -> None:
    for path in (brokers[1] / "orders-0").glob("00000000000000000000.*"):
        path.unlink()
    copy_with_other_segments(brokers[0], brokers[2])
    differences, (partition,) = compared(brokers)
    assert (differences, partition["start_offset"]) == ([], 7)


def test_below_a_log_start_offset_nothing_is_compared(brokers: list[Path]) -> None:
    change_batch(0, base_timestamp=1)(brokers[1])
    path = str(brokers[2] / checkpoints.LOG_START)
    checkpoints.write_offsets(REAL, path, {ORDERS: 3})
    differences, (partition,) = compared(brokers)
    assert (differences, partition["start_offset"]) == ([], 3)


def test_what_compaction_has_been_through_is_not_compared(brokers: list[Path]) -> None:
    change_batch(0, base_timestamp=1)(brokers[1])
    path = str(brokers[1] / checkpoints.CLEANER)
    checkpoints.write_offsets(REAL, path, {ORDERS: 7})
    differences, (partition,) = compared(brokers)
    assert (differences, partition["start_offset"]) == ([], 7)
    assert "orders-0: below 7 each is compacted" in run_log("verify", "--compare", *brokers).output


def test_partitions_that_one_broker_alone_has_are_counted(brokers: list[Path]) -> None:
    write_log(brokers[1] / "payments-3")
    write_log(brokers[2] / f"payments-3.{'0' * 32}-future")
    ran = run_log("verify", "--compare", *brokers)
    assert ran.output == (
        "no differences (1 partitions, 1 by segments, 0 by batches, 1 of one replica)\n"
    )
    assert ran.code == 0


def test_directories_of_one_partition_are_compared(brokers: list[Path]) -> None:
    assert compared([path / "orders-0" for path in brokers])[0] == []
    change_batch(3, base_timestamp=1)(brokers[1])
    (difference,), _ = compared([path / "orders-0" for path in brokers])
    assert difference["offset"] == 3


# --- differences ---------------------------------------------------------------------------


def change_batch(offset: int, **changed: int) -> Callable[[Path], None]:
    """Another header with the CRC of its bytes, in the batch that begins at an offset."""

    def change(broker: Path) -> None:
        for path in (broker / "orders-0").glob("*.log"):
            content = bytearray(path.read_bytes())
            for header in list(walk(content)):
                if header.base_offset == offset:
                    values = list(HEADER.unpack_from(content, header.position))
                    names = [field.name for field in fields(header)][1:]
                    for name, value in changed.items():
                        values[names.index(name)] = value
                    HEADER.pack_into(content, header.position, *values)
                    covered = memoryview(content)[header.position + 21 : header.end]
                    position = header.position + 17
                    content[position : position + 4] = crc32c(covered).to_bytes(4)
            path.write_bytes(content)

    return change


def flip_a_byte(broker: Path) -> None:
    path = broker / "orders-0" / "00000000000000000007.log"
    content = bytearray(path.read_bytes())
    content[80] ^= 1
    path.write_bytes(content)


def lose_a_batch(broker: Path) -> None:
    path = broker / "orders-0" / "00000000000000000000.log"
    content = path.read_bytes()
    _, second, third, *_ = walk(content)
    path.write_bytes(content[: second.position] + content[third.position :])


def write_something_else(broker: Path) -> None:
    truncate(broker, 14)
    for _ in range(8):
        append(broker, b"of another history")


def tear_the_end(broker: Path) -> None:
    path = broker / "orders-0" / "00000000000000000014.log"
    path.write_bytes(path.read_bytes()[:-5])


def begin_an_epoch_elsewhere(broker: Path) -> None:
    (broker / "orders-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n2 12\n")


def spoil_the_epochs(broker: Path) -> None:
    (broker / "orders-0" / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n2 12\n")


DIVERGENCES: list[tuple[Diverge, int, str]] = [
    (change_batch(5, producer_id=77), 5, "producer id -1, crc"),
    (change_batch(11, partition_leader_epoch=1), 11, "leader epoch 1"),
    (change_batch(0, max_timestamp=3), 0, "batch 0-0: "),
    (flip_a_byte, 7, "the same header, but not the same bytes"),
    (lose_a_batch, 1, "base offset 2, last offset 2"),
    (write_something_else, 14, "batch 14-16: "),
    (tear_the_end, 21, "damaged in "),
    (begin_an_epoch_elsewhere, 10, "leader epoch 2 begins at 10 in "),
    (spoil_the_epochs, 22, "damaged in "),
]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(("diverge", "offset", "reason"), DIVERGENCES)
def test_the_first_difference_is_told(
    diverge: Diverge, offset: int, reason: str, which: int, brokers: list[Path]
) -> None:
    diverge(brokers[which])
    differences, _ = compared(brokers)
    of_one_alone = reason.startswith("damaged")
    assert len(differences) == (2 if which == 0 and not of_one_alone else 1)
    for difference in differences:
        assert (difference["topic"], difference["partition"]) == ORDERS
        assert difference["offset"] == offset
        if which:
            assert reason in difference["reason"]
            assert str(brokers[which]) in difference["reason"] or "same header" in reason


def test_a_difference_is_told_where_segments_begin_elsewhere(brokers: list[Path]) -> None:
    copy_with_other_segments(brokers[0], brokers[1])
    change_batch(9, base_timestamp=5)(brokers[1])
    differences, _ = compared(brokers)
    assert [each["offset"] for each in differences] == [9]


def test_a_batch_that_one_has_beyond_a_gap_is_told(brokers: list[Path]) -> None:
    """Its log goes on as far, but what the others have last is not there."""
    path = brokers[1] / "orders-0" / "00000000000000000014.log"
    content = path.read_bytes()
    *_, last = walk(content)
    path.write_bytes(content[: last.position])
    (brokers[1] / "orders-0" / "00000000000000000030.log").touch()
    differences, _ = compared(brokers)
    (difference,) = differences
    assert (difference["offset"], difference["reason"]) == (21, f"{brokers[1]} has no batch 21-21")


def test_sentences(brokers: list[Path]) -> None:
    change_batch(5, producer_id=77)(brokers[1])
    ran = run_log("verify", "--compare", *brokers)
    assert ran.code == 1
    assert ran.output.splitlines() == [
        f"orders-0 at offset 5: batch 5-5: {brokers[0]} has producer id -1, "
        f"crc {crc(brokers[0], 5)}; {brokers[1]} has producer id 77, crc {crc(brokers[1], 5)}",
        "differences: 1 (1 partitions, 1 by segments, 0 by batches, 0 of one replica)",
    ]


def crc(broker: Path, offset: int) -> int:
    data = (broker / "orders-0" / "00000000000000000000.log").read_bytes()
    (found,) = [header.crc for header in walk(data) if header.base_offset == offset]
    return found


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a"], "two directories or more are needed"),
        (["a", "missing"], "there is no such directory"),
        (["empty", "empty"], "neither a partition's directory nor a data directory"),
    ],
)
def test_bad_input(names: list[str], reason: str, brokers: list[Path]) -> None:
    top = brokers[0].parent
    (top / "empty").mkdir()
    ran = run_log("verify", "--compare", *(top / name for name in names))
    assert (ran.code, ran.output) == (2, "")
    assert reason in ran.errors and ran.errors.count("\n") == 1


def test_several_directories_are_compared_or_refused(brokers: list[Path]) -> None:
    ran = run_log("verify", *brokers)
    assert (ran.code, ran.output) == (2, "")
    assert "several are for --compare" in ran.errors
