"""Where producer ids come from: the controller or, before protocol 3.0, the registry."""

from collections.abc import Callable
from typing import Final

from barnabas.server.core.awaiting import Backoff, within
from barnabas.server.core.errors import ApiError, Unanswered
from barnabas.server.registry.bodies import ProducerIdBlock, ProtocolVersion
from barnabas.server.requests.controller_requests import ControllerRequests
from barnabas.server.requests.services import Services
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest

CONTROLLER_ALLOCATES_SINCE: Final[ProtocolVersion] = (3, 0)
FIRST_PAUSE_MS: Final = 50.0
LONGEST_PAUSE_MS: Final = 1_000.0
LONGEST_WAIT_MS: Final = 2_000.0
"""Below the shortest `request.timeout.ms` that clients have in practice, which is 5 s."""
LATER: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
        ErrorCode.STALE_BROKER_EPOCH,
    }
)
"""Refusals that say no more than that the office, or this broker's place, has just changed."""


class ProducerIdBlocks:
    """The blocks of one broker."""

    def __init__(
        self, services: Services, requests: ControllerRequests, broker_epoch: Callable[[], int]
    ) -> None:
        self._services = services
        self._requests = requests
        self._broker_epoch = broker_epoch

    async def next_block(self, broker_id: int) -> ProducerIdBlock:
        """The next block for this broker.

        Waits for a controller for a while: then raises ApiError COORDINATOR_LOAD_IN_PROGRESS, upon
        which clients try again, as they have to with Kafka. Raises what the registry raises.
        """
        registry, clock = self._services.registry, self._services.clock
        if registry.protocol < CONTROLLER_ALLOCATES_SINCE:
            return await registry.producer_ids.next_block(broker_id)
        end_ms = clock.monotonic_ms() + LONGEST_WAIT_MS
        backoff = Backoff(clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        while (left_ms := end_ms - clock.monotonic_ms()) > 0:
            try:
                return await within(clock, left_ms, self._ask(broker_id))
            except ApiError as error:
                if error.code not in LATER:
                    raise
            except (Unanswered, TimeoutError):
                pass  # a controller that hangs is none
            await backoff.wait()
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    async def _ask(self, broker_id: int) -> ProducerIdBlock:
        epoch, controller = self._broker_epoch(), self._services.controller
        if controller.is_active:
            return await controller.allocate_producer_ids(broker_id, epoch)
        request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)
        answer = await self._requests.send(request, (0, 0))
        if answer.error_code:
            raise ApiError(ErrorCode(answer.error_code))
        return ProducerIdBlock(broker_id, answer.producer_id_start, answer.producer_id_len)
