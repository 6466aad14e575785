"""A broker that stops hands over first: the controller has others lead what it leads.

Asked `controlled.shutdown.max.retries` times, `controlled.shutdown.retry.backoff.ms` apart or
sooner, as soon as another try can come to more: there is another controller, or somebody else is in
sync with what is left. Then the broker stops whatever has become of it. One that is alone stops at
once.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from barnabas.server.cluster.membership import NO_BROKER_EPOCH
from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.core.awaiting import pause, within
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

LOOK_AGAIN_MS: Final = 50.0

Ask = Callable[[ControlledShutdownRequest], Awaitable[ControlledShutdownResponse]]
"""The controller's answer. Raises Unanswered."""


class Departure:
    """One broker's."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        metadata: ClusterMetadata,
        config: BrokerConfig,
        ask: Ask,
        clock: Clock,
        log: Log,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._metadata = metadata
        self._config = config
        self._ask = ask
        self._clock = clock
        self._log = log

    async def hand_over(self) -> None:
        """Return once others lead what this broker led, or have been given the time to."""
        config = self._config
        if not config.controlled_shutdown_enable or self._broker_epoch() == NO_BROKER_EPOCH:
            return
        for left in reversed(range(config.controlled_shutdown_max_retries)):
            if self._metadata.brokers.keys() <= {self._broker_id}:
                return
            controller_id = self._metadata.controller_id
            remaining = await self._try()
            if remaining is not None and not remaining:
                return
            if left:
                await self._until_worth_a_try(controller_id, remaining or ())
        self._log.warn("others do not lead all that this broker leads")

    async def _try(self) -> Sequence[RemainingPartition] | None:
        """What is left to be led elsewhere; None if the controller cannot say."""
        request = ControlledShutdownRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch()
        )
        limit_ms = self._config.controller_socket_timeout_ms
        try:
            answer = await within(self._clock, limit_ms, self._ask(request))
        except (Unanswered, TimeoutError) as error:
            self._log.info("the controller does not take over", why=error)
            return None
        if answer.error_code:
            refusal = ErrorCode(answer.error_code).name
            self._log.info("the controller does not take over", why=refusal)
            return None
        if answer.remaining_partitions:
            self._log.info("others cannot lead yet", partitions=len(answer.remaining_partitions))
        return answer.remaining_partitions

    async def _until_worth_a_try(
        self, controller_id: int, remaining: Sequence[RemainingPartition]
    ) -> None:
        end_ms = self._clock.monotonic_ms() + self._config.controlled_shutdown_retry_backoff_ms
        while (left_ms := end_ms - self._clock.monotonic_ms()) > 0:
            await pause(self._clock, min(LOOK_AGAIN_MS, left_ms))
            metadata = self._metadata
            if metadata.controller_id not in (controller_id, -1):
                return
            if any(self._can_be_led_elsewhere(each) for each in remaining):
                return

    def _can_be_led_elsewhere(self, left: RemainingPartition) -> bool:
        info = self._metadata.partition(left.topic_name, left.partition_index)
        others = self._metadata.brokers.keys() - {self._broker_id}
        return info is None or not others.isdisjoint(info.isr)
