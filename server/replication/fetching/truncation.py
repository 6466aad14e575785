"""Where a follower cuts its log, once its leader has said where an epoch ends (KIP-101, KIP-279).

Pure: numbers in, numbers out. Source: Kafka's AbstractFetcherThread.getOffsetTruncationState.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

UNDEFINED: Final = -1
"""An epoch or an offset that is not known."""

EndOf = Callable[[int], tuple[int, int]]
"""Of an epoch: (the largest known epoch up to it, where that ends), or (-1, -1)."""


class EpochEnd(NamedTuple):
    """The largest epoch that a leader knows up to the one it was asked for, and where it ends."""

    epoch: int
    offset: int


class Cut(NamedTuple):
    """What a log is cut to; unless it `is_final`, the leader is asked about the epoch before."""

    offset: int
    is_final: bool


def cut_for(said: EpochEnd, own_end_of: EndOf, log_end_offset: int, fetch_offset: int) -> Cut:
    """Where to cut.

    fetch_offset: where the leader knows nothing; that is the high watermark then
    said.offset:  where it knows no epochs, or we know none so early
    in part:      to the end of the epoch that we have before the one it speaks of
    else:         to where the epoch ends here or there, whichever is first
    """
    if said.offset == UNDEFINED:
        return Cut(fetch_offset, True)
    if said.epoch == UNDEFINED:
        return Cut(min(said.offset, log_end_offset), True)
    own_epoch, own_end = own_end_of(said.epoch)
    if own_end == UNDEFINED:
        return Cut(min(said.offset, log_end_offset), True)
    if own_epoch != said.epoch:
        return Cut(min(own_end, log_end_offset), False)
    return Cut(min(own_end, said.offset, log_end_offset), True)
