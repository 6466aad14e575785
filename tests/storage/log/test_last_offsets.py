"""The end of the numbers: offsets are int64, and so is the offset at which a log ends."""

from pathlib import Path

import pytest

from barnabas.storage.batch.header import MAX_OFFSET
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import CorruptBatch, OffsetOutOfRange
from barnabas.storage.log.log import Log

from ..logs import NOW_MS, a_batch, append, file_name, offsets, open_log
from .test_append import stamped

LONGEST = 1 << 31
END = MAX_OFFSET + 1


def log_at(folder: Path, offset: int) -> Log:
    log = open_log(folder)
    log.truncate_fully_and_start_at(offset, NOW_MS)
    return log


@pytest.mark.parametrize("producer", [-1, 7])
@pytest.mark.parametrize("first", [(1 << 61) - 2, (1 << 62) - 2, MAX_OFFSET - LONGEST])
def test_appends_go_on_far_out(tmp_path: Path, first: int, producer: int) -> None:
    log = log_at(tmp_path, first)
    for number in range(3 if first < MAX_OFFSET - LONGEST else 1):
        sequence = 2 * number if producer >= 0 else -1
        info = append(log, a_batch(2, producer_id=producer, sequence=sequence))
        assert info.first_offset == first + 2 * number
    written = offsets(log)
    log.close()
    assert offsets(open_log(tmp_path, log_start_offset=first)) == written != []


@pytest.mark.parametrize("first", [MAX_OFFSET - LONGEST + 1, MAX_OFFSET - 1, MAX_OFFSET, END])
@pytest.mark.parametrize("format_1", [False, True])
def test_a_log_without_offsets_left_takes_no_more(
    tmp_path: Path, first: int, format_1: bool
) -> None:
    log = log_at(tmp_path, first)
    old = build_message_set([Record(0, NOW_MS, None, b"v")], 1)
    with pytest.raises(OffsetOutOfRange) as caught:
        append(log, bytearray(old) if format_1 else a_batch(2))
    assert (caught.value.offset, log.log_end_offset) == (first, first)
    log.close()
    assert open_log(tmp_path, log_start_offset=first).log_end_offset == first


def test_a_follower_takes_them_to_the_last(tmp_path: Path) -> None:
    log = log_at(tmp_path, MAX_OFFSET - 1)
    for first in (MAX_OFFSET, END):
        with pytest.raises(CorruptBatch):
            log.append_as_follower(stamped(bytes(a_batch(2)), first), NOW_MS)
    log.append_as_follower(stamped(bytes(a_batch(2)), MAX_OFFSET - 1), NOW_MS)
    assert log.log_end_offset == END
    log.update_high_watermark(END)
    assert offsets(log) == [(MAX_OFFSET - 1, MAX_OFFSET)]


@pytest.mark.parametrize("offset", [-1, END + 1, 1 << 70])
def test_no_log_begins_beyond(tmp_path: Path, offset: int) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(2))
    with pytest.raises(OffsetOutOfRange):
        log.truncate_fully_and_start_at(offset, NOW_MS)
    assert offsets(log) == [(0, 1)]


def test_recovery_cuts_a_batch_that_reaches_beyond(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    sound, beyond = stamped(bytes(a_batch(2)), END - 2), stamped(bytes(a_batch(2)), END)
    (folder / file_name(END - 2, "log")).write_bytes(sound + beyond)
    log = open_log(tmp_path, clean=False)
    assert log.log_end_offset == END
