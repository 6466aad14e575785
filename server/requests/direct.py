"""Requests that a broker sends to itself: a call, and for a test a request like any other.

No bytes are made of them and no connection is needed, but faults are asked and the answer is
shown to whoever observes requests, so that what goes wrong between two brokers can be made to go
wrong in one. Whatever keeps a real answer from arriving is `Unanswered`.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from barnabas.server.core.awaiting import pause
from barnabas.server.core.errors import Unanswered
from barnabas.server.requests.faults import Fault, Faults
from barnabas.server.requests.services import Services
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.header import RequestHeader
from barnabas.wire.schema import Message

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


class Tested(Protocol):
    """What tests want of every request: the dispatcher."""

    faults: Faults | None

    def observe(self, header: RequestHeader, request: Message, response: Message | None) -> None:
        """A request has been answered."""


class DirectCalls:
    """The way of one broker's requests to itself."""

    def __init__(self, services: Services, tested: Tested) -> None:
        self._services = services
        self._tested = tested
        self._count = 0

    async def call(
        self,
        api_key: ApiKey,
        version: int,
        client_id: str,
        request: Q,
        serve: Callable[[Q], Awaitable[A]],
        refuse: Callable[[Q, ErrorCode], A],
    ) -> A:
        """The answer that `serve` makes, or `refuse` for a fault. Raises Unanswered."""
        self._count += 1
        header = RequestHeader(api_key, version, self._count, client_id)
        fault = self._meets_fault(header, request)
        if fault is not None and fault.action in ("drop", "close"):
            raise Unanswered("a fault took the request away")
        if fault is not None and fault.action == "delay":
            await pause(self._services.clock, fault.delay_ms)
        if fault is not None and fault.action == "error":
            answer = refuse(request, fault.error)
        else:
            answer = await serve(request)
        self._tested.observe(header, request, answer)
        if fault is not None and fault.action in ("close_after", "truncate"):
            raise Unanswered("a fault took the answer away")
        return answer

    def _meets_fault(self, header: RequestHeader, request: Message) -> Fault | None:
        faults = self._tested.faults
        if faults is None:
            return None
        try:
            return faults.hit(header, request, self._services)
        except Exception as error:  # of a test's predicate: then the request is none of those
            self._services.log.unexpected("a fault cannot be matched", error)
            return None
