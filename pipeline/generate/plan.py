"""The stream as a plan: what decides it, and its division into blocks.

A block is a part of an hour, with as many events as the daily curve gives it, and is made of the
seed and its number alone: who makes which blocks, where and when does not matter. Positions are
the order in which events arrive.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Final

from barnabas.pipeline.generate.catalogue import HOURLY

HOUR_MS: Final = 3_600_000
MOST_EVENTS_OF_A_BLOCK: Final = 50_000
MOST_USERS: Final = 9_999_999  # a user's id has seven digits
DEFAULT_SPAN_MS: Final = 24 * HOUR_MS
DEFAULT_START_MS: Final = 1_772_409_600_000  # 2026-03-02, a Monday


@dataclass(frozen=True)
class Block:
    """Events `first` … `first + count - 1`, which arrive in [start_ms, end_ms)."""

    number: int
    first: int
    count: int
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class Plan:
    """A stream of `events` records that arrive over `span_ms` from `start_ms` (since 1970)."""

    events: int
    seed: int = 1
    users: int = 100_000
    start_ms: int = DEFAULT_START_MS
    span_ms: int = DEFAULT_SPAN_MS

    @property
    def start_text(self) -> str:
        """The day of the first event."""
        return datetime.fromtimestamp(self.start_ms / 1000, UTC).date().isoformat()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in order; about one per hour, or per 50,000 events if that is more."""
        found: list[Block] = []
        for start_ms, end_ms, first, last in self._hours():
            parts = -(-(last - first) // MOST_EVENTS_OF_A_BLOCK)
            for part in range(parts):
                begin = first + (last - first) * part // parts
                end = first + (last - first) * (part + 1) // parts
                begin_ms = start_ms + (end_ms - start_ms) * part // parts
                until_ms = start_ms + (end_ms - start_ms) * (part + 1) // parts
                found.append(Block(len(found), begin, end - begin, begin_ms, until_ms))
        return tuple(found)

    def _hours(self) -> list[tuple[int, int, int, int]]:
        """Start and end of each hour, and the positions before and after it."""
        edges = [self.start_ms]
        while edges[-1] < self.start_ms + self.span_ms:
            next_hour = (edges[-1] // HOUR_MS + 1) * HOUR_MS
            edges.append(min(next_hour, self.start_ms + self.span_ms))
        weights = [(end - start) * HOURLY[start // HOUR_MS % 24] for start, end in pairwise(edges)]
        total, so_far = sum(weights), 0
        hours = []
        for (start, end), weight in zip(pairwise(edges), weights, strict=True):
            first = self.events * so_far // total
            so_far += weight
            hours.append((start, end, first, self.events * so_far // total))
        return hours
