"""Faults planted into the broker: each has to be found by the histories of CI."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.replication import fetch_reader
from barnabas.server.replication.control import ControlRequests
from barnabas.server.replication.fetch_reader import FetchReader
from barnabas.server.replication.fetch_sessions import Wanted
from barnabas.server.replication.isr_states import IsrEvent
from barnabas.server.replication.partition import Partition
from barnabas.wire.messages.fetch import PartitionData

Plant = Callable[[pytest.MonkeyPatch], None]


def high_watermark_raised_one_fetch_early(patch: pytest.MonkeyPatch) -> None:
    """What is sent to a follower counts as held by it."""
    read = FetchReader._read

    def early(self: FetchReader, wanted: Wanted, answer: PartitionData, *rest: Any) -> int:
        size = read(self, wanted, answer, *rest)
        if size and self.replica_id >= 0:
            partition = self.replicas.require(str(wanted.topic), wanted.index)
            end_offset, start_offset = partition.log.log_end_offset, wanted.log_start_offset
            partition.follower_fetched(self.replica_id, self.broker_epoch, end_offset, start_offset)
        return size

    patch.setattr(FetchReader, "_read", early)


def truncation_by_offset_instead_of_epoch(patch: pytest.MonkeyPatch) -> None:
    """A leader does not say where logs part: followers keep what they have."""
    patch.setattr(fetch_reader, "_diverges", lambda *_: False)


def stale_controller_not_fenced(patch: pytest.MonkeyPatch) -> None:
    """Whoever was controller goes on to write, and brokers believe it."""
    patch.setattr(ControllerEpoch, "fence", lambda self, *ops: list(ops))
    patch.setattr(ControlRequests, "_refusal", lambda self, request: None)


def isr_shrunk_without_the_registry(patch: pytest.MonkeyPatch) -> None:
    """A leader takes who lags out of the in-sync set by itself."""
    submit = Partition._submit

    def alone(self: Partition, event: IsrEvent, isr: Sequence[int]) -> None:
        submit(self, event, isr)
        if event is IsrEvent.LAGGED:
            self.isr = self.maximal_isr = tuple(isr)

    patch.setattr(Partition, "_submit", alone)


PLANTS: Final[dict[Plant, str]] = {
    high_watermark_raised_one_fetch_early: "is lost|out of range|, then b'",
    truncation_by_offset_instead_of_epoch: r"replicas \d and \d differ",
    stale_controller_not_fenced: r"written by controller \d+, when \d+ ruled",
    isr_shrunk_without_the_registry: r"in sync \[.*\], in the registry \[",
}
"""What each is found by: a fault like this."""
