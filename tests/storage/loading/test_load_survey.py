"""Segments of 100 bytes each, named by their base offsets."""

import pytest

from barnabas.storage.loading.unopened_logs import bytes_to_read


def files(*names: str) -> set[str]:
    """`10.log` stands for the file of base offset 10; `10` for a log and its two indexes."""
    found = set()
    for name in names:
        base, _, extension = name.partition(".")
        for each in [extension] if extension else ["log", "index", "timeindex"]:
            found.add(f"{int(base):020d}.{each}")
    return found


def surveyed(names: set[str], *, clean: bool, recovery_point: int = 0) -> int:
    return bytes_to_read(
        names, lambda name: 100, clean_shutdown=clean, recovery_point=recovery_point
    )


@pytest.mark.parametrize(
    ("names", "recovery_point", "segments"),
    [
        ({"partition.metadata"}, 0, 0),
        (files("0"), 0, 1),
        (files("0", "10", "20", "10.snapshot", "20.snapshot"), 15, 2),
        (files("0", "10", "20", "10.snapshot", "20.snapshot"), 20, 1),
        (files("0", "10", "20", "10.snapshot", "20.snapshot"), 999, 1),
        (files("0", "10", "20", "10.snapshot"), 20, 2),  # replayed from the snapshot on
        (files("0", "10", "20"), 20, 3),  # replayed from the start
        (files("5", "10", "10.snapshot"), 0, 2),  # the first one begins above the point
        (files("0.log", "10", "10.snapshot"), 10, 2),  # an index is missing
        (files("0", "10", "10.snapshot") | files("0.log.swap"), 10, 2),
    ],
)
def test_after_a_crash(names: set[str], recovery_point: int, segments: int) -> None:
    assert surveyed(names, clean=False, recovery_point=recovery_point) == 100 * segments


@pytest.mark.parametrize(
    ("names", "segments"),
    [
        (files("0", "10", "10.snapshot", "17.snapshot"), 0),
        (files("0", "10"), 0),  # a log of a Kafka that had no producers
        (files("0", "10", "20", "10.snapshot"), 2),  # the snapshot of the stop is missing
        (files("0.log", "0.index", "10", "17.snapshot"), 1),
    ],
)
def test_after_a_clean_stop(names: set[str], segments: int) -> None:
    assert surveyed(names, clean=True) == 100 * segments
