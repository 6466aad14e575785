"""One walk says of a small segment what two walks, one after the other, would say."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.storage.batch.header import HEADER
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import StorageError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment.index_checks import check_largest_timestamp, read_checked_end
from barnabas.storage.segment.segment import Segment

from ..logs import NOW_MS, a_batch, append, file_name, open_log

SIZE = len(a_batch(2))
TIMES = (3, 9, 4, 9, 1)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Five batches whose largest timestamp is that of the second, and of the fourth."""
    log = open_log(tmp_path, index_interval_bytes=4096)
    for time in TIMES:
        append(log, a_batch(2, timestamp=NOW_MS + time))
    log.close()
    return tmp_path / "t-0"


def outcome(directory: Path, read: Callable[[Segment], int]) -> tuple[str, object]:
    """The offset it ends at, or the kind of its error and what that says."""
    segment = Segment(FileCache(REAL), str(directory), 0, LogConfig(), NOW_MS)
    segment.attach((directory / file_name(0, "log")).stat().st_size)
    try:
        return "ends", read(segment)
    except StorageError as error:
        return type(error).__name__, str(error)
    finally:
        segment.close()


def in_two_walks(segment: Segment) -> int:
    end = segment.read_next_offset()
    check_largest_timestamp(segment, *segment.largest_timestamp())
    return end


def changed(path: Path) -> Iterator[str]:
    """The file with each bit turned over in turn, in the `.log` those of the headers."""
    whole = path.read_bytes()
    for place in range(len(whole)):
        if path.suffix == ".log" and place % SIZE >= HEADER.size:
            continue
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            yield f"byte {place}, bit {bit}"
    path.write_bytes(whole)


def test_a_sound_segment_ends_where_it_ends(directory: Path) -> None:
    assert outcome(directory, read_checked_end) == ("ends", 10)
    assert outcome(directory, in_two_walks) == ("ends", 10)


@pytest.mark.parametrize("extension", ["log", "timeindex"])
def test_whatever_bit_is_turned_over(directory: Path, extension: str) -> None:
    kinds = set()
    for where in changed(directory / file_name(0, extension)):
        found = outcome(directory, read_checked_end)
        assert found == outcome(directory, in_two_walks), where
        kinds.add(found[0])
    assert {"CorruptIndex", "ends"} <= kinds or "CorruptBatch" in kinds


@pytest.mark.parametrize("extension", ["log", "timeindex"])
def test_wherever_a_file_ends(directory: Path, extension: str) -> None:
    path = directory / file_name(0, extension)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert outcome(directory, read_checked_end) == outcome(directory, in_two_walks), size
