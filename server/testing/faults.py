"""`broker.faults`: what goes wrong, said from a test's thread."""

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.server.requests.faults import Action
    from barnabas.server.testing.broker import Broker
    from barnabas.wire.api import ApiKey
    from barnabas.wire.error_codes import ErrorCode
    from barnabas.wire.schema import Message

PATH = "/control/faults"


class AddedFault:
    """A fault in force, or taken back; its counts are the broker's own."""

    def __init__(self, broker: "Broker", number: int) -> None:
        self._broker = broker
        self.number = number

    def __repr__(self) -> str:
        return f"AddedFault({self.number})"

    @property
    def seen(self) -> int:
        """How many requests have matched."""
        return int(self._state()["seen"])

    @property
    def hits(self) -> int:
        """How many requests it happened to."""
        return int(self._state()["hits"])

    def remove(self) -> None:
        """Take it back; harmless when it has been."""
        self._broker.ask("DELETE", f"{PATH}/{self.number}")

    def _state(self) -> Any:
        return self._broker.ask("GET", f"{PATH}/{self.number}")


class TestFaults:
    """The faults of a test's broker. They outlive a restart and a crash."""

    __test__ = False

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def __iter__(self) -> Iterator[AddedFault]:
        listed = self._broker.ask("GET", PATH)["faults"]
        return iter([AddedFault(self._broker, each["id"]) for each in listed])

    def __len__(self) -> int:
        return len(self._broker.ask("GET", PATH)["faults"])

    def add(
        self,
        action: "Action" = "none",
        *,
        api: "str | ApiKey | None" = None,
        version: int | None = None,
        client_id: str | None = None,
        topic: str | None = None,
        partition: int | None = None,
        predicate: "Callable[[Message], bool] | None" = None,
        skip: int = 0,
        times: int | None = 1,
        error: "str | int | ErrorCode | None" = None,
        delay_ms: float | None = None,
        throttle_ms: int | None = None,
    ) -> AddedFault:
        """Let something go wrong; see `barnabas.server.requests.faults`. Raises ValueError.

        `api` and `error` may be Kafka's names ("OFFSET_COMMIT", "NOT_COORDINATOR"). One
        request is hit unless `times` says otherwise (None: all). The fault's `hits` count. A
        `predicate` is asked on the broker's loop, and cannot be sent to another process.
        """
        wanted = {
            "api": _plain(api),
            "version": version,
            "client_id": client_id,
            "topic": topic,
            "partition": partition,
            "predicate": predicate,
            "error": _plain(error),
            "delay_ms": delay_ms,
            "throttle_ms": throttle_ms,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        if predicate is not None and self._broker.process:
            raise ValueError("a predicate cannot be sent to a broker in another process")
        answer = self._broker.ask("POST", PATH, action=action, skip=skip, times=times, **given)
        return AddedFault(self._broker, answer["id"])

    def remove(self, fault: AddedFault) -> None:
        """Take a fault back; harmless when it has been."""
        fault.remove()

    def clear(self) -> None:
        """Take all faults back."""
        self._broker.ask("DELETE", PATH)


def _plain(value: object) -> object:
    """A member of an enumeration as its number, which JSON can hold."""
    return int(value) if isinstance(value, IntEnum) else value
