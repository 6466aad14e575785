"""Lakes for tests: entries by hand."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.pipeline.lake.entries import COMPACTIONS, Entry, Held, LandedFile

LANDING = "7c9e6679"
ORDERS_ID = "eEvUGeg6TVqqTXi1lCxIDA"


def a_file(name: str, first: int = 0, rows: int = 10, *, parsed: str = "") -> LandedFile:
    """A file of partition 0 of the topic orders."""
    path = f"topic=orders/date=2026-03-01/{name}.parquet"
    held = {0: Held(first, first + rows - 1, rows)}
    return LandedFile(path, rows, rows * 100, ORDERS_ID, held, parsed)


def an_entry(
    batch: int, *added: LandedFile, offsets: Mapping[int, tuple[int, int]], topic: str = "orders"
) -> Entry:
    """What a batch of one topic adds."""
    return Entry(
        landing_id=LANDING,
        batch=batch,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qk",
        landed_at_ms=1_772_000_000_000 + batch,
        topic_ids={topic: ORDERS_ID},
        offsets={topic: offsets},
        added=added,
    )


def a_compaction(number: int, merged: LandedFile, *removed: LandedFile) -> Entry:
    """One file in the place of others."""
    paths = tuple(file.path for file in removed)
    return Entry(COMPACTIONS, number, "", 1_772_000_000_000, added=(merged,), removed=paths)
