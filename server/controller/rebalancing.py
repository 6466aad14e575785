"""Leaders go back to the replicas that are preferred (`auto.leader.rebalance.enable`).

A broker that was away leads nothing when it is back; these elections give it its share.
"""

from typing import Final

from barnabas.server.controller.elections_on_request import ElectionsOnRequest
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.core.clock import Clock, Timer
from barnabas.server.settings.config import BrokerConfig

FIRST_LOOK_MS: Final = 5_000.0


class Rebalancing:
    """The clock of one controller's preferred elections."""

    def __init__(
        self,
        elections: ElectionsOnRequest,
        config: BrokerConfig,
        events: RetriedEvents,
        clock: Clock,
    ) -> None:
        self._elections = elections
        self._config = config
        self._events = events
        self._clock = clock
        self._timer: Timer | None = None

    def start(self) -> None:
        """Look from now on, soon for the first time."""
        self.stop()
        if self._config.auto_leader_rebalance_enable:
            self._look_later(FIRST_LOOK_MS)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_later(self, delay_ms: float) -> None:
        self._timer = self._clock.call_later(delay_ms, self._look, coalesces=True)

    def _look(self) -> None:
        self._events.put("rebalance leaders", self._rebalance)
        self._look_later(self._config.leader_imbalance_check_interval_seconds * 1_000)

    async def _rebalance(self) -> None:
        await self._elections.rebalance(self._config.leader_imbalance_per_broker_percentage)
