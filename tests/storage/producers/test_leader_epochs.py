from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import CorruptCheckpoint
from barnabas.storage.producers.leader_epochs import (
    FILE_NAME,
    LeaderEpochs,
    build_epochs,
    parse_epochs,
)


def epochs_of(folder: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(REAL, str(folder))
    for epoch, start in entries:
        epochs.assign(epoch, start)
    return epochs


def test_the_file_is_kafkas(tmp_path: Path) -> None:
    epochs = epochs_of(tmp_path, (0, 0), (3, 120))
    epochs.write()
    assert (tmp_path / FILE_NAME).read_bytes() == b"0\n2\n0 0\n3 120\n"
    again = LeaderEpochs(REAL, str(tmp_path))
    again.load()
    assert again.entries() == [(0, 0), (3, 120)]
    assert again.latest_epoch == 3
    assert not again.dirty


def test_is_written_only_when_something_changed(tmp_path: Path) -> None:
    epochs = epochs_of(tmp_path, (0, 0))
    epochs.write()
    (tmp_path / FILE_NAME).unlink()
    assert not epochs.assign(0, 50)
    epochs.truncate_from_end(10)
    epochs.write()
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize(
    "content",
    [
        b"0\n2\n0 0\n",
        b"1\n0\n",
        b"0\n1\n0\n",
        b"0\n1\nx y\n",
        b"\xff",
        b"0\n1\n2147483648 0\n",
        b"0\n1\n0 9223372036854775808\n",
    ],
)
def test_refuses_a_damaged_file(content: bytes) -> None:
    with pytest.raises(CorruptCheckpoint):
        parse_epochs(content)


def test_an_empty_file_has_no_entries() -> None:
    """As Apache Kafka leaves it with a log without records; else a power cut may have left it."""
    assert parse_epochs(b"") == []


def test_an_empty_file_is_not_taken_for_what_was_written(tmp_path: Path) -> None:
    epochs = epochs_of(tmp_path, (0, 0))
    (tmp_path / FILE_NAME).write_bytes(b"")
    with pytest.raises(CorruptCheckpoint):
        epochs.load()


def test_content_survives_the_way_there_and_back() -> None:
    for entries in ([], [(0, 0)], [(2, 5), (9, 5_000_000_000)]):
        assert parse_epochs(build_epochs(entries)) == entries


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ((5, 30), [(1, 0), (3, 10), (5, 20)]),
        ((5, 15), [(1, 0), (3, 10), (5, 15)]),
        ((6, 20), [(1, 0), (3, 10), (6, 20)]),
        ((6, 10), [(1, 0), (6, 10)]),
        ((2, 5), [(1, 0), (2, 5)]),
    ],
)
def test_what_a_new_leader_says_wins(
    tmp_path: Path, entry: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    epochs = epochs_of(tmp_path, (1, 0), (3, 10), (5, 20))
    epochs.assign(*entry)
    assert epochs.entries() == expected
    assert epochs.latest_epoch == expected[-1][0]


def test_refuses_what_is_no_epoch(tmp_path: Path) -> None:
    for entry in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="no leader epoch"):
            epochs_of(tmp_path, entry)


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (5, (5, 99)),
        (3, (3, 20)),
        (4, (3, 20)),
        (2, (2, 10)),
        (1, (1, 5)),
        (6, (-1, -1)),
        (-1, (-1, -1)),
    ],
)
def test_where_an_epoch_ends(tmp_path: Path, epoch: int, expected: tuple[int, int]) -> None:
    epochs = epochs_of(tmp_path, (2, 5), (3, 10), (5, 20))
    assert epochs.end_offset_for(epoch, 99) == expected
    assert epochs_of(tmp_path).end_offset_for(epoch, 99) == (-1, -1)


def test_the_epoch_of_an_offset(tmp_path: Path) -> None:
    epochs = epochs_of(tmp_path, (2, 5), (3, 10))
    assert [epochs.epoch_for_offset(offset) for offset in (4, 5, 9, 10, 99)] == [None, 2, 2, 3, 3]
    assert epochs.earliest_entry() == (2, 5)


@pytest.mark.parametrize(
    ("end", "left"), [(21, 3), (20, 2), (11, 2), (10, 1), (0, 0), (-1, 3), (99, 3)]
)
def test_truncation_from_the_end(tmp_path: Path, end: int, left: int) -> None:
    epochs = epochs_of(tmp_path, (2, 0), (3, 10), (5, 20))
    epochs.truncate_from_end(end)
    assert epochs.entries() == [(2, 0), (3, 10), (5, 20)][:left]
    assert epochs.latest_epoch == [-1, 2, 3, 5][left]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, [(2, 0), (3, 10)]),
        (7, [(2, 7), (3, 10)]),
        (10, [(3, 10)]),
        (15, [(3, 15)]),
    ],
)
def test_truncation_from_the_start(
    tmp_path: Path, start: int, expected: list[tuple[int, int]]
) -> None:
    epochs = epochs_of(tmp_path, (2, 0), (3, 10))
    epochs.truncate_from_start(start)
    assert epochs.entries() == expected


def test_clear(tmp_path: Path) -> None:
    epochs = epochs_of(tmp_path, (2, 0))
    epochs.clear()
    epochs.write()
    assert (tmp_path / FILE_NAME).read_bytes() == b"0\n0\n"
    assert (epochs.latest_epoch, epochs.earliest_entry()) == (-1, None)
