"""Who is on the website during a block: sessions on lanes.

A block has as many lanes as there are visitors at a time, a power of two. Events arrive in
rounds: each lane once, in an order of the round's own. A lane is a row of sessions, one after
the other, whose lengths are geometric; the lane of a bot is one session. So a *cell*, the pair of
round and lane, says which session an event is of, without any event before it being made.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

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

BETWEEN_EVENTS_MS: Final = 40_000  # of one visitor, about
BOT_LANES_PER_MILLION: Final = 60_000
BOTS: Final = 40
BOT_BASE: Final = 1 << 40  # the number of a bot as a visitor; people's begin at 0
# A session ends after an event so many times in a million, by the temper of its lane.
ENDINGS_PER_MILLION: Final = (500_000, 200_000, 100_000, 40_000)
ENDING_WEIGHTS: Final = (15, 40, 35, 10)
CELL_BITS: Final = 24  # a block has fewer cells


@dataclass(frozen=True)
class Visits:
    """The cells of a block, numbered round * lanes + lane, and the sessions they are of."""

    lanes: int
    first_cell: int  # what a cell's number is added to, for hashing: unique in the stream
    started_at: Integers  # cell -> the cell that its session began with
    visitor_at: Integers  # cell that begins a session -> visitor; elsewhere undefined

    def cells(self, positions: Integers, shuffle_key: int) -> Integers:
        """The cells of positions in the block: each round has its own order of lanes."""
        rounds = positions // self.lanes
        turn = hashes(shuffle_key, rounds + self.first_cell).astype(np.int64) & (self.lanes - 1)
        return rounds * self.lanes + ((positions & (self.lanes - 1)) ^ turn)


def visits_of(plan: Plan, block: Block) -> Visits:
    """The sessions of a block."""
    lanes = lanes_of(block)
    rounds = -(-block.count // lanes)
    first_cell = block.number << CELL_BITS
    is_bot = is_one_of(_drawn(plan, "bot", np.arange(lanes) + first_cell), BOT_LANES_PER_MILLION)
    cells = np.arange(rounds * lanes, dtype=np.int64)
    starts = _starts(plan, first_cell, rounds, is_bot)
    started_at = np.maximum.accumulate(
        np.where(starts, cells.reshape(rounds, lanes), -1), axis=0
    ).ravel()
    beginnings = cells[starts.ravel()]
    visitor_at = np.zeros(len(cells), dtype=np.int64)
    visitor_at[beginnings] = _visitors(plan, beginnings + first_cell, is_bot[beginnings % lanes])
    return Visits(lanes, first_cell, started_at, visitor_at)


def lanes_of(block: Block) -> int:
    """How many visitors there are at a time: a power of two."""
    wanted = block.count * BETWEEN_EVENTS_MS // max(block.end_ms - block.start_ms, 1)
    return int(1 << min(max(wanted, 4).bit_length() - 1, 15))


def _starts(
    plan: Plan, first_cell: int, rounds: int, is_bot: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """(rounds, lanes): whether a session begins there."""
    lanes = len(is_bot)
    temper = chosen(_drawn(plan, "temper", np.arange(lanes) + first_cell), ENDING_WEIGHTS)
    endings = np.array(ENDINGS_PER_MILLION, dtype=np.int64)[temper]
    endings[is_bot] = 0
    drawn = _drawn(plan, "ending", np.arange(rounds * lanes) + first_cell)
    starts: npt.NDArray[np.bool_] = below(drawn, 1_000_000).reshape(rounds, lanes) < endings
    starts[0] = True
    return starts


def _visitors(plan: Plan, cells: Integers, is_bot: npt.NDArray[np.bool_]) -> Integers:
    drawn = _drawn(plan, "visitor", cells)
    return np.where(is_bot, BOT_BASE + below(drawn, BOTS), zipf_ranks(drawn, plan.users))


def _drawn(plan: Plan, purpose: str, counters: Integers) -> Hashes:
    return hashes(key_of(plan.seed, purpose), counters)
