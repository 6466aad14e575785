import os
from pathlib import Path

import pytest

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptBatch

from ..logs import a_batch


@pytest.fixture
def file(tmp_path: Path) -> OpenFile:
    return OpenFile(REAL, os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT))


BATCHES = [bytes(a_batch(1, value=b"v" * size)) for size in (10, 500, 3, 90, 5000, 1)]
WHOLE = b"".join(BATCHES)


@pytest.mark.parametrize("chunk_bytes", [1, 12, 61, 100, 700, 1 << 20])
def test_every_batch_comes_whole_whatever_the_chunk(file: OpenFile, chunk_bytes: int) -> None:
    os.pwrite(file.fd, WHOLE, 0)
    found = list(read_batches(file, 0, len(WHOLE), chunk_bytes))
    assert [chunk[header.position : header.end] for _, header, chunk in found] == BATCHES
    positions = [sum(map(len, BATCHES[:number])) for number in range(len(BATCHES))]
    assert [position for position, _, _ in found] == positions


def test_from_one_position_to_another(file: OpenFile) -> None:
    os.pwrite(file.fd, WHOLE, 0)
    start, end = len(BATCHES[0]), len(BATCHES[0]) + len(BATCHES[1])
    ((position, header, _),) = read_batches(file, start, end)
    assert (position, header.size_bytes) == (start, len(BATCHES[1]))
    assert list(read_batches(file, end, end)) == []


@pytest.mark.parametrize("cut", [1, 5, 30, len(BATCHES[-1]) - 1])
@pytest.mark.parametrize("chunk_bytes", [50, 1 << 20])
@pytest.mark.parametrize("is_short", [True, False])
def test_a_torn_end_is_an_error_after_all_that_is_whole(
    file: OpenFile, cut: int, chunk_bytes: int, is_short: bool
) -> None:
    os.pwrite(file.fd, WHOLE[:-cut], 0)
    end = len(WHOLE) - (0 if is_short else cut)
    found = read_batches(file, 0, end, chunk_bytes)
    for _ in BATCHES[:-1]:
        next(found)
    with pytest.raises(CorruptBatch):
        next(found)


def test_zeros_are_no_batches(file: OpenFile) -> None:
    os.pwrite(file.fd, WHOLE + bytes(500), 0)
    found = read_batches(file, 0, len(WHOLE) + 500)
    with pytest.raises(CorruptBatch):
        for number, _ in enumerate(found):
            assert number < len(BATCHES)
