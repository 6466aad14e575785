"""`broker.faults`: what goes wrong, said from a test's thread."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.server.control import Action, Fault, Faults
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.schema import Message

if TYPE_CHECKING:
    from barnabas.server.broker import Broker as ServerBroker
    from barnabas.server.testing.broker import Broker


class TestFaults:
    """The faults of a test's broker. They outlive a restart."""

    __test__ = False

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._faults = Faults()

    def attach(self, server: "ServerBroker") -> None:
        """A broker has started: these are its faults."""
        server.dispatcher.faults = self._faults

    def add(
        self,
        action: Action = "none",
        *,
        api: str | ApiKey | None = None,
        version: int | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        predicate: Callable[[Message], bool] | None = None,
        skip: int = 0,
        times: int | None = 1,
        error: str | int | ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR,
        delay_ms: float = 0,
        throttle_ms: int = 0,
    ) -> Fault:
        """Let something go wrong; see `barnabas.server.control`.

        `api` and `error` may be Kafka's names ("OFFSET_COMMIT", "NOT_COORDINATOR"). One
        request is hit unless `times` says otherwise (None: all). The fault's `hits` count.
        """
        fault = Fault(
            action=action,
            api=ApiKey[api.upper()] if isinstance(api, str) else api,
            version=version,
            client_id=client_id,
            topic=topic,
            partition=partition,
            predicate=predicate,
            skip=skip,
            times=times,
            error=ErrorCode[error.upper()] if isinstance(error, str) else ErrorCode(error),
            delay_ms=delay_ms,
            throttle_ms=throttle_ms,
        )
        return self._broker.call(lambda: self._faults.add(fault))

    def remove(self, fault: Fault) -> None:
        """Take a fault back."""
        self._broker.call(lambda: self._faults.remove(fault))

    def clear(self) -> None:
        """Take all faults back."""
        self._broker.call(self._faults.clear)
