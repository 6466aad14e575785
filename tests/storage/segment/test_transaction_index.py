from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.transaction_index import AbortedTransaction, TransactionIndex

FIRST = AbortedTransaction(7, 100, 110, 105)
SECOND = AbortedTransaction(8, 105, 120, 121)


def an_index(folder: Path, *, exists: bool = False, base_offset: int = 100) -> TransactionIndex:
    path = str(folder / "i.txnindex")
    return TransactionIndex(FileCache(REAL), path, base_offset, exists=exists)


def filled(folder: Path) -> TransactionIndex:
    index = an_index(folder)
    index.append(FIRST)
    index.append(SECOND)
    return index


def test_has_no_file_until_something_is_aborted(tmp_path: Path) -> None:
    index = an_index(tmp_path)
    assert index.entries() == []
    index.truncate_to(0)
    assert not list(tmp_path.iterdir())
    index.append(FIRST)
    assert an_index(tmp_path, exists=True).entries() == [FIRST]


def test_markers_come_in_order(tmp_path: Path) -> None:
    index = filled(tmp_path)
    with pytest.raises(ValueError, match="does not come after"):
        index.append(FIRST)


@pytest.mark.parametrize(
    ("start", "end", "expected", "is_complete"),
    [
        (100, 103, [FIRST], True),
        (111, 115, [SECOND], True),
        (100, 121, [FIRST, SECOND], True),
        (121, 130, [], False),
        (90, 100, [], True),
    ],
)
def test_collects_what_a_read_has_to_skip(
    tmp_path: Path, start: int, end: int, expected: list[AbortedTransaction], is_complete: bool
) -> None:
    found: list[AbortedTransaction] = []
    assert filled(tmp_path).collect(start, end, found) is is_complete
    assert found == expected


def test_truncation_goes_by_the_marker(tmp_path: Path) -> None:
    index = filled(tmp_path)
    index.truncate_to(121)
    assert index.entries() == [FIRST, SECOND]
    index.truncate_to(120)
    assert index.entries() == an_index(tmp_path, exists=True).entries() == [FIRST]
    index.append(SECOND)
    index.reset()
    assert an_index(tmp_path, exists=True).entries() == []


def test_a_torn_last_entry_does_not_count(tmp_path: Path) -> None:
    filled(tmp_path)
    with (tmp_path / "i.txnindex").open("ab") as file:
        file.write(b"\0" * 33)
    assert an_index(tmp_path, exists=True).entries() == [FIRST, SECOND]


def test_refuses_entries_of_another_segment_or_version(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(CorruptIndex, match="before the segment"):
        an_index(tmp_path, exists=True, base_offset=115).entries()
    (tmp_path / "i.txnindex").write_bytes(b"\0\1" + b"\0" * 32)
    with pytest.raises(CorruptIndex, match="version 1"):
        an_index(tmp_path, exists=True).entries()
