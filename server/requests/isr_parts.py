"""What the partitions led by one broker need to know who is in sync, made when it is needed.

A broker whose partitions have no followers imports none of what asks the controller.
"""

from __future__ import annotations  # what the types name is imported when it is needed

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Timer
from barnabas.server.observing.logs import Log
from barnabas.server.replication.isr_states import IsrChange, LeaderParts
from barnabas.server.requests.services import Services

if TYPE_CHECKING:
    from barnabas.server.replication.alter_partition import Decide, IsrChanges
    from barnabas.server.replication.isr_deciders import Ask
    from barnabas.server.replication.partition import Partition

CONTROLLER_DECIDES_SINCE = (2, 7)
PARTITIONS_AT_ONCE = 500  # between two lots others have their turn


class IsrParts:
    """The parts of one broker."""

    def __init__(
        self,
        services: Services,
        broker_epoch: Callable[[], int],
        ask: Ask,
        on_moved: Callable[[tuple[str, int]], object],
        log: Log,
    ) -> None:
        """`ask` asks the controller; `on_moved` hears of partitions of which more is committed."""
        self._services = services
        self._broker_epoch = broker_epoch
        self._ask = ask
        self._on_moved = on_moved
        self._log = log
        self._timer: Timer | None = None
        config = services.config
        self.leader_parts = LeaderParts(
            services.clock,
            float(config.replica_lag_time_max_ms),
            self._is_alive,
            self._submit,
        )

    def start(self) -> None:
        """Look from now on who lags behind, twice in the time that one may."""
        self._look_later(self._services.config.replica_lag_time_max_ms / 2)

    def stop(self) -> None:
        """Ask nobody any more."""
        if self._timer is not None:
            self._timer.cancel()
        if "_changes" in self.__dict__:
            self._changes.stop()

    def _is_alive(self, broker_id: int) -> bool:
        return broker_id in self._services.metadata.brokers

    def _submit(self, change: IsrChange) -> None:
        self._changes.submit(change)

    # Who lags behind.

    def _look_later(self, delay_ms: float) -> None:
        self._timer = self._services.clock.call_later(delay_ms, self._look, coalesces=True)

    def _look(self) -> None:
        self._look_later(self._services.config.replica_lag_time_max_ms / 2)
        self._look_at([each for each in self._services.replicas if each.followers])

    def _look_at(self, partitions: list[Partition]) -> None:
        if len(partitions) > PARTITIONS_AT_ONCE:
            rest = partitions[PARTITIONS_AT_ONCE:]
            self._services.clock.call_later(0, lambda: self._look_at(rest))
        for partition in partitions[:PARTITIONS_AT_ONCE]:
            if lagging := partition.maybe_shrink_isr():
                self._say(partition, lagging)
            # One that was waited for without being in sync is not waited for any more.
            if partition.followers and partition.advance_high_watermark():
                self._on_moved(partition.key)

    def _say(self, partition: Partition, lagging: frozenset[int]) -> None:
        ends = ",".join(
            f"{each}:{partition.followers[each].log_end_offset}"
            for each in sorted(lagging & partition.followers.keys())
        )
        self._log.info(
            "followers lag behind", topic=partition.topic, partition=partition.index,
            followers=",".join(map(str, sorted(lagging))), at=ends,
            leader_at=partition.log.log_end_offset, high_watermark=partition.log.high_watermark,
        )  # fmt: skip

    # Having changes decided.

    @cached_property
    def _changes(self) -> IsrChanges:
        from barnabas.server.replication.alter_partition import IsrChanges

        parts = self._services
        return IsrChanges(
            self._decider(), parts.replicas.find, self._on_moved, parts.clock, self._log
        )

    def _decider(self) -> Decide:
        from barnabas.server.replication.isr_deciders import ControllerDecides, LeaderDecides

        parts = self._services
        registry = parts.registry
        if registry.protocol >= CONTROLLER_DECIDES_SINCE:
            return ControllerDecides(parts.broker_id, self._broker_epoch, self._ask).decide
        return LeaderDecides(parts.broker_id, registry.partitions, registry.isr_changes).decide
