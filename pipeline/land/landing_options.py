"""What a landing is told."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.pipeline.land.marker import Selection
from barnabas.pipeline.land.parsing import Parsing

RECORDS_PER_BATCH = 1_000_000


@dataclass(frozen=True)
class Accepted:
    """What a landing goes on over."""

    loss: bool = False
    made_again: bool = False
    take_over: bool = False


@dataclass(frozen=True)
class LandingOptions:
    """What a landing is told."""

    lake: str
    checkpoint: str
    selection: Selection
    once: bool = True
    interval: str | None = None
    parsing: Parsing | None = None
    accepted: Accepted = Accepted()
    records_per_batch: int = RECORDS_PER_BATCH
