"""What a broker asks of the controller, which may be the broker itself: then it is a call."""

from __future__ import annotations  # what the types name is imported when it is needed

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from barnabas.server.core.errors import REFUSALS, code_of
from barnabas.server.requests.other_brokers import peers_of
from barnabas.server.requests.services import Services
from barnabas.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from barnabas.wire.schema import Message

if TYPE_CHECKING:
    from barnabas.server.peers.peers import Peers
    from barnabas.wire.messages.alter_partition import (
        AlterPartitionRequest,
        AlterPartitionResponse,
    )


class ControllerRequests:
    """Those of one broker."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def stop(self) -> None:
        """Ask nothing more."""
        if "_peers" in self.__dict__:
            self._peers.close()

    async def controlled_shutdown(
        self, request: ControlledShutdownRequest
    ) -> ControlledShutdownResponse:
        """Ask to be relieved. Raises Unanswered."""
        controller = self._services.controller
        if controller.is_active:
            try:
                return await controller.controlled_shutdown(request)
            except REFUSALS as error:
                return ControlledShutdownResponse(error_code=int(code_of(error)))
        answer: ControlledShutdownResponse = await self.send(request, (1, 3))
        return answer

    async def send(self, request: Message, versions: tuple[int, int]) -> Any:
        """The answer of a controller that is another broker. Raises Unanswered."""
        controller_id = self._services.metadata.controller_id
        return await self._peers.send(controller_id, request, versions)

    async def alter_partition(
        self, request: AlterPartitionRequest, versions: tuple[int, int]
    ) -> AlterPartitionResponse:
        """Have in-sync sets changed, at one of these versions. Raises Unanswered, ApiError."""
        controller = self._services.controller
        if controller.is_active:
            pauses = self._services.turns.pauses()
            decide = controller.decisions.isr_changes.decide
            return await controller.in_turn(
                "change in-sync sets", partial(decide, request, versions[1], pauses)
            )
        answer: AlterPartitionResponse = await self._peers.send(
            self._services.metadata.controller_id, request, versions
        )
        return answer

    @cached_property
    def _peers(self) -> Peers:
        return peers_of(self._services, str(self._services.broker_id))
