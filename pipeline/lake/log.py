"""Reading the entries of a lake in an order in which no file is seen removed but not added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.pipeline.lake.entries import (
    COMPACTIONS,
    LANDED,
    Entry,
    LakeState,
    entry_path,
    from_json,
    state_of,
)
from barnabas.pipeline.lake.folders import Folder
from barnabas.pipeline.spark.failures import PipelineError

SUFFIX = ".json"


def read_state(folder: Folder) -> LakeState:
    """What the lake in a folder holds now."""
    return state_of(read_entries(folder))


def read_entries(folder: Folder) -> list[Entry]:
    """Every entry.

    Compactions are read first: what they remove was added before, so that its entry is found
    afterwards. One that appears meanwhile is not seen at all.
    """
    compactions = [compaction_entry_path(number) for number in range(compaction_count(folder))]
    found = [read_entry(folder, path) for path in compactions]
    landing_ids = [name for name in folder.names(LANDED) if name != COMPACTIONS]
    return found + [read_entry(folder, path) for path in _paths(folder, landing_ids)]


def read_entry(folder: Folder, path: str) -> Entry:
    """One entry."""
    with legible(folder, path):
        return from_json(folder.read(path))


@contextmanager
def legible(folder: Folder, path: str) -> Iterator[None]:
    """Whoever reads a file of the lake's own says which one it is that has something else in it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise PipelineError(
            f"{folder.uri}/{path} cannot be read: it is damaged, or of a later Barnabas"
        ) from error


def compaction_count(folder: Folder) -> int:
    """How many compactions there have been, which is the number of the next."""
    numbers = [int(name.removesuffix(SUFFIX)) for name in _entry_names(folder, COMPACTIONS)]
    # A listing beside a compaction may have a later one without an earlier one.
    return next((count for count, number in enumerate(numbers) if count != number), len(numbers))


def compaction_entry_path(number: int) -> str:
    """Where the entry of a compaction is: their numbers have no gap."""
    return entry_path(COMPACTIONS, number)


def _paths(folder: Folder, landing_ids: list[str]) -> list[str]:
    return [
        f"{LANDED}/{landing_id}/{name}"
        for landing_id in landing_ids
        for name in _entry_names(folder, landing_id)
    ]


def _entry_names(folder: Folder, landing_id: str) -> list[str]:
    names = folder.names(f"{LANDED}/{landing_id}")
    return [name for name in names if name.endswith(SUFFIX) and not name.startswith(".")]
