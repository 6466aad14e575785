from pathlib import Path

import pytest

from barnabas.storage.log.log import Log
from barnabas.storage.log.offset_lookup import TimestampedOffset
from barnabas.storage.segment import index_checks

from ..logs import a_batch, append, file_name, open_log


def filled(folder: Path) -> Log:
    """Records 0 to 7 with timestamps 100 101 | 300 301 | 200 201 | 400 401, in two epochs."""
    log = open_log(folder, segment_bytes=2 * len(a_batch(2)))
    for number, timestamp in enumerate((100, 300, 200, 400)):
        append(log, a_batch(2, timestamp=timestamp), leader_epoch=number // 2)
    assert len(log.segments) == 2
    return log


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize(
    ("timestamp", "offset", "found", "epoch"),
    [(0, 0, 100, 0), (101, 1, 101, 0), (102, 2, 300, 0), (201, 2, 300, 0), (302, 6, 400, 1),
     (401, 7, 401, 1)],
)  # fmt: skip
def test_the_first_record_at_or_after_a_time(
    tmp_path: Path, is_reopened: bool, timestamp: int, offset: int, found: int, epoch: int
) -> None:
    log = filled(tmp_path)
    if is_reopened:
        log.close()
        log = open_log(tmp_path)
    assert log.lookup.by_timestamp(timestamp) == TimestampedOffset(offset, found, epoch)
    assert log.lookup.by_timestamp(402) is None


def test_records_below_the_log_start_do_not_count(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.maybe_increment_log_start_offset(3)
    assert log.lookup.by_timestamp(0) == TimestampedOffset(3, 301, 0)
    assert log.lookup.earliest() == TimestampedOffset(3, -1, 0)


def test_a_damaged_time_index_is_made_anew(tmp_path: Path) -> None:
    filled(tmp_path).close()
    path = tmp_path / "t-0" / file_name(0, "timeindex")
    entry = path.read_bytes()
    assert len(entry) == 12
    path.write_bytes(entry + b"\0" * 7 + b"\x05\0\0\0\2")
    log = open_log(tmp_path)
    assert log.lookup.by_timestamp(101) == TimestampedOffset(1, 101, 0)
    assert path.read_bytes() == entry


RISING = list(range(1000, 1320, 10))
SHUFFLED = [1000 + (7 * number) % 32 * 10 for number in range(32)]
EARLY = [2000, *range(1000, 1310, 10)]


def answers(log: Log) -> list[object]:
    """What the log says of every time that could make a difference, and of its segments."""
    times = range(990, 2020, 5)
    ages = [log.store.indexes.largest_timestamp(segment) for segment in log.segments]
    return [*map(log.lookup.by_timestamp, times), log.lookup.of_max_timestamp(), *ages]


@pytest.mark.parametrize("timestamps", [RISING, SHUFFLED, EARLY])
@pytest.mark.parametrize("base", [0, 16])
@pytest.mark.parametrize("kept", range(9))
def test_a_time_index_that_lost_entries_at_its_end_is_made_anew(
    tmp_path: Path, timestamps: list[int], base: int, kept: int
) -> None:
    """Of a segment that was closed when it was full (0), and of the one closed by a stop."""
    settings = {"segment_bytes": 16 * len(a_batch()), "index_interval_bytes": 100}
    log = open_log(tmp_path, **settings)
    for timestamp in timestamps:
        append(log, a_batch(timestamp=timestamp))
    assert log.segments.base_offsets == [0, 16]
    expected = answers(log)
    log.close()
    path = tmp_path / "t-0" / file_name(base, "timeindex")
    whole = path.read_bytes()
    path.write_bytes(whole[: 12 * kept])
    log = open_log(tmp_path, **settings)
    assert answers(log) == expected
    log.close()
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", [0, 1, 9])
def test_so_is_one_of_a_large_segment_that_is_looked_at_here_and_there(
    tmp_path: Path, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_checks, "_WALKED_BYTES", 200)
    monkeypatch.setattr(index_checks, "_SAMPLES", 4)
    log = open_log(tmp_path, segment_bytes=1 << 20, index_interval_bytes=100)
    for number in range(400):  # the first entries' timestamps stand, and go on after a while
        append(log, a_batch(timestamp=1000 + max(number - 300, min(number, 20))))
    log.roll(0)
    expected = log.lookup.by_timestamp(1099)
    log.close()
    path = tmp_path / "t-0" / file_name(0, "timeindex")
    path.write_bytes(path.read_bytes()[: 12 * kept])
    log = open_log(tmp_path, segment_bytes=1 << 20, index_interval_bytes=100)
    assert expected is not None and log.lookup.by_timestamp(1099) == expected
    assert any("made anew" in note for note in log.load_report.notes)
    log.close()


def test_the_record_with_the_largest_timestamp(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert log.lookup.of_max_timestamp() is None
    for timestamp in (100, 500, 300):
        append(log, a_batch(2, timestamp=timestamp))
        log.roll(0)
    assert log.lookup.of_max_timestamp() == TimestampedOffset(3, 501, 0)
    log.close()
    assert open_log(tmp_path).lookup.of_max_timestamp() == TimestampedOffset(3, 501, 0)


def test_both_ends(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert log.lookup.earliest() == log.lookup.latest() == TimestampedOffset(0, -1, -1)
    log = filled(tmp_path)
    assert log.lookup.earliest() == TimestampedOffset(0, -1, 0)
    assert log.lookup.latest() == TimestampedOffset(8, -1, 1)
    assert log.lookup.latest(5) == TimestampedOffset(5, -1, 1)


def test_where_epochs_end(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.lookup.end_offset_for_epoch(0) == (0, 4)
    assert log.lookup.end_offset_for_epoch(1) == (1, 8)
    assert log.lookup.end_offset_for_epoch(2) == (-1, -1)
    log.assign_epoch(4, 8)
    assert log.lookup.end_offset_for_epoch(3) == (1, 8)
