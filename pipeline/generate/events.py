"""The events of a block as columns, in the order in which they arrive.

Most arrive a moment after they happened, some minutes, a few hours later (a phone that had no
network); and some arrive twice, one round later and unchanged: the copy takes the place of the
event that its visitor would have made then, so that a stream has exactly as many records as were
asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from barnabas.pipeline.generate.catalogue import (
    COUNTRY_WEIGHTS,
    DEVICE_WEIGHTS,
    KIND_WEIGHTS,
    ORIGIN_WEIGHTS,
    ORIGINS,
    PAGE_VIEW,
    PAGES,
    QUERIES,
    SEARCH,
)
from barnabas.pipeline.generate.numbers import (
    Hashes,
    Integers,
    below,
    chosen,
    hashes,
    is_one_of,
    key_of,
    zipf_ranks,
)
from barnabas.pipeline.generate.plan import Block, Plan
from barnabas.pipeline.generate.visits import BOT_BASE, Visits, visits_of

DUPLICATES_PER_MILLION: Final = 5_000
# How late: so many of a thousand, from, up to (ms).
DELAYS: Final = ((985, 50, 2_000), (10, 60_000, 480_000), (5, 900_000, 10_800_000))
NONE: Final = -1

Keep = Callable[[Integers], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Events:
    """Columns of equal length; codes are indexes into the catalogue, NONE where there is none.

    `page` is an index of PAGES, `referrer` one of ORIGINS followed by PAGES; `visitor` is the
    number of a person, or BOT_BASE and more for a bot.
    """

    position: Integers
    arrival_ms: Integers
    event_ms: Integers
    event_id: Hashes
    session_id: Hashes
    visitor: Integers
    kind: Integers
    page: Integers
    query: Integers
    referrer: Integers
    country: Integers
    device: Integers

    def __len__(self) -> int:
        return len(self.position)


def events_of(plan: Plan, block: Block, keep: Keep | None = None) -> Events:
    """The events of a block; with `keep`, of those visitors only for whom it is true."""
    return _Maker(plan, block).events(keep)


class _Maker:
    """What the columns of one block are made with."""

    def __init__(self, plan: Plan, block: Block) -> None:
        self.plan = plan
        self.block = block
        self.visits: Visits = visits_of(plan, block)

    def events(self, keep: Keep | None) -> Events:
        positions = np.arange(self.block.count, dtype=np.int64)
        cells = self.visits.cells(positions, self._key("turn"))
        if keep is not None:
            visitors = self.visits.visitor_at[self.visits.started_at[cells]]
            chosen_ones = np.flatnonzero(keep(visitors))
            positions, cells = positions[chosen_ones], cells[chosen_ones]
        return self._columns(positions, np.where(self._is_copy(cells), self._before(cells), cells))

    def _columns(self, positions: Integers, cells: Integers) -> Events:
        session = self.visits.started_at[cells]
        visitor = self.visits.visitor_at[session]
        kind = self._kind(cells)
        return Events(
            position=positions + self.block.first,
            arrival_ms=self._arrival_ms(positions),
            event_ms=self._event_ms(cells),
            event_id=self._drawn("event", cells),
            session_id=self._drawn("session", session),
            visitor=visitor,
            kind=kind,
            page=self._page(cells),
            query=np.where(kind == SEARCH, zipf_ranks(self._drawn("q", cells), len(QUERIES)), NONE),
            referrer=self._referrer(cells, session),
            country=chosen(hashes(self._key("country"), visitor), COUNTRY_WEIGHTS),
            device=chosen(hashes(self._key("device"), visitor), DEVICE_WEIGHTS),
        )

    def _is_copy(self, cells: Integers) -> npt.NDArray[np.bool_]:
        """Whether the record is the previous event of its session once more."""
        before = np.maximum(self._before(cells), 0)
        is_drawn = is_one_of(self._drawn("copy", cells), DUPLICATES_PER_MILLION)
        was_drawn = is_one_of(self._drawn("copy", before), DUPLICATES_PER_MILLION)
        goes_on: npt.NDArray[np.bool_] = self.visits.started_at[cells] != cells
        return is_drawn & ~was_drawn & goes_on

    def _before(self, cells: Integers) -> Integers:
        return cells - self.visits.lanes

    def _arrival_ms(self, positions: Integers) -> Integers:
        """Evenly over the block, each somewhere in its share of the time."""
        length = self.block.end_ms - self.block.start_ms
        within = below(self._drawn("arrival", positions), length)
        return self.block.start_ms + (positions * length + within) // self.block.count

    def _event_ms(self, cells: Integers) -> Integers:
        """When it happened: before it arrived for the first time."""
        positions = self.visits.cells(cells, self._key("turn"))  # its own inverse
        drawn = self._drawn("delay", cells)
        how = chosen(self._drawn("late", cells), [share for share, _, _ in DELAYS])
        least = np.array([least for _, least, _ in DELAYS], dtype=np.int64)[how]
        most = np.array([most for _, _, most in DELAYS], dtype=np.int64)[how]
        return self._arrival_ms(positions) - least - below(drawn, most - least)

    def _kind(self, cells: Integers) -> Integers:
        """A session begins with a page."""
        drawn = chosen(self._drawn("kind", cells), KIND_WEIGHTS)
        return np.where(self.visits.started_at[cells] == cells, PAGE_VIEW, drawn)

    def _page(self, cells: Integers) -> Integers:
        """The page seen; of a search and a sign-in the one that it began on is not kept."""
        is_view = self._kind(cells) == PAGE_VIEW
        return np.where(is_view, zipf_ranks(self._drawn("page", cells), len(PAGES)), NONE)

    def _referrer(self, cells: Integers, session: Integers) -> Integers:
        """Of the first event where the visitor came from, then the page before, if any."""
        origin = chosen(self._drawn("origin", session), ORIGIN_WEIGHTS)
        page = self._page(np.maximum(self._before(cells), 0))
        return np.where(session == cells, origin, np.where(page == NONE, 0, page + len(ORIGINS)))

    def _key(self, purpose: str) -> int:
        return key_of(self.plan.seed, purpose)

    def _drawn(self, purpose: str, counters: Integers) -> Hashes:
        return hashes(self._key(purpose), counters + self.visits.first_cell)


def is_bot(visitors: Integers) -> npt.NDArray[np.bool_]:
    """Which visitors are bots."""
    return visitors >= BOT_BASE
