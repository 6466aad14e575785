"""How much opening a log will have to read, by the names and sizes of its files alone."""

from bisect import bisect_right
from collections.abc import Callable, Iterable

from barnabas.storage.segment.files import INDEX, LOG, SWAP, TIME_INDEX

_SNAPSHOT = ".snapshot"
_DIGITS = 20


def bytes_to_read(
    names: set[str], size_of: Callable[[str], int], *, clean_shutdown: bool, recovery_point: int
) -> int:
    """Bytes of the segments that are to be recovered, or replayed for the producers' state.

    An estimate: a damaged file shows only when it is opened. `size_of` is asked for the sizes
    of those segments only.
    """
    bases = _offsets(names, LOG)
    doubtful = {name for name in names if name.endswith(LOG + SWAP)}
    if bases:
        first = _first_offset_to_read(
            bases, _offsets(names, _SNAPSHOT), clean_shutdown, recovery_point
        )
        for base_offset in bases:
            stem = f"{base_offset:0{_DIGITS}d}"
            if base_offset >= first or not {stem + INDEX, stem + TIME_INDEX} <= names:
                doubtful.add(stem + LOG)
    return sum(map(size_of, doubtful))


def _offsets(names: Iterable[str], extension: str) -> list[int]:
    return sorted(int(name[:_DIGITS]) for name in names if name[_DIGITS:] == extension)


def _first_offset_to_read(
    bases: list[int], snapshots: list[int], clean_shutdown: bool, recovery_point: int
) -> int:
    """Base offset of the first segment to read, or an offset above all of them."""
    if clean_shutdown:
        # Without any snapshot nothing is replayed either; the one of a stop is above all bases.
        return snapshots[-1] if snapshots else bases[-1] + 1
    first = bases[max(bisect_right(bases, recovery_point) - 1, 0)]
    slot = bisect_right(snapshots, first)
    return min(first, snapshots[slot - 1] if slot else bases[0])
