"""Quantiles of whole numbers such as microseconds, at the cost of one addition for each."""

import math

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
QUANTILE_WINDOW_S = 60.0


class Histogram:
    """Counts of whole numbers in buckets a quarter of a power of two wide.

    Below 8 every number has its bucket; above, bucket i begins at (4 + i % 4) << (i // 4 - 1),
    so a quantile is found to within a fifth.
    """

    __slots__ = ("_before", "_before_s", "_buckets", "total")

    def __init__(self) -> None:
        self._buckets = [0] * 160
        self._before = [0] * 160
        self._before_s = 0.0
        self.total = 0

    def record(self, value: int) -> None:
        """Count one non-negative value below 2**40."""
        self.total += value
        if value < 8:
            self._buckets[value] += 1
        else:
            shift = value.bit_length() - 3
            self._buckets[shift * 4 + (value >> shift)] += 1

    @property
    def count(self) -> int:
        """How many values were recorded."""
        return sum(self._buckets)

    def recent_quantiles(self, now_s: float) -> list[float]:
        """`QUANTILES` of what came since the last call a window ago or longer; of nothing, NaN."""
        recent = [now - then for now, then in zip(self._buckets, self._before, strict=True)]
        if now_s - self._before_s >= QUANTILE_WINDOW_S:
            self._before, self._before_s = self._buckets[:], now_s
        return _quantiles(recent)


def _quantiles(buckets: list[int]) -> list[float]:
    count = sum(buckets)
    if count == 0:
        return [math.nan] * len(QUANTILES)
    found: list[float] = []
    ranks = iter(QUANTILES)
    rank, seen = next(ranks, None), 0
    for index, number in enumerate(buckets):
        seen += number
        while rank is not None and number and seen >= rank * count:
            found.append(_middle(index))
            rank = next(ranks, None)
    return found


def _middle(index: int) -> float:
    """The middle of a bucket."""
    if index < 8:
        return float(index)
    shift = index // 4 - 1
    low = (4 + index % 4) << shift
    return low + ((1 << shift) - 1) / 2
