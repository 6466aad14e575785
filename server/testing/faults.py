"""`broker.faults`: what goes wrong, said from a test's thread."""

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from barnabas.server.testing.predicates import Failure, guarded, raise_first

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
        try:
            return f"<fault {self.number}: {_words(self._broker.ask('GET', self._path))}>"
        except Exception:  # in a fork, or of a broker that cannot be asked any more
            return f"<fault {self.number}>"

    @property
    def seen(self) -> int:
        """How many requests have matched. Raises what its predicate raised."""
        return int(self._state()["seen"])

    @property
    def hits(self) -> int:
        """How many requests it happened to. Raises what its predicate raised."""
        return int(self._state()["hits"])

    def remove(self) -> None:
        """Take it back; harmless when it has been. Raises what its predicate raised."""
        self._broker.command("fault.remove", "DELETE", self._path)
        self._broker.faults.check()

    @property
    def _path(self) -> str:
        return f"{PATH}/{self.number}"

    def _state(self) -> Any:
        self._broker.faults.check()
        return self._broker.command("fault", "GET", self._path)


class TestFaults:
    """The faults of a test's broker. They outlive a restart and a crash."""

    __test__ = False

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._failures: list[Failure] = []

    def __repr__(self) -> str:
        try:
            return f"<faults: {', '.join(map(repr, self)) or 'none'}>"
        except Exception:
            return "<faults>"

    def __iter__(self) -> Iterator[AddedFault]:
        listed = self._broker.command("faults", "GET", PATH)["faults"]
        return iter([AddedFault(self._broker, each["id"]) for each in listed])

    def __len__(self) -> int:
        return len(self._broker.command("faults", "GET", PATH)["faults"])

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
        `predicate` is asked on the broker's loop, and cannot be sent to another process; when
        it raises, its request passes unharmed, and the test fails (`check`).
        """
        if predicate is not None and self._broker.process:
            raise ValueError(
                "faults.add: a predicate cannot be sent to a broker in another process"
            )
        wanted = {
            "api": _plain(api),
            "version": version,
            "client_id": client_id,
            "topic": topic,
            "partition": partition,
            "predicate": predicate and guarded(predicate, self._failures),
            "error": _plain(error),
            "delay_ms": delay_ms,
            "throttle_ms": throttle_ms,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        answer = self._broker.command(
            "faults.add", "POST", PATH, action=action, skip=skip, times=times, **given
        )
        return AddedFault(self._broker, answer["id"])

    def remove(self, fault: AddedFault) -> None:
        """Take a fault back; harmless when it has been."""
        fault.remove()

    def clear(self) -> None:
        """Take all faults back. Raises what a predicate raised."""
        self._broker.command("faults.clear", "DELETE", PATH)
        self.check()

    def check(self) -> None:
        """Raise what a predicate raised, if one did since the last look.

        Whatever asks for a fault's counts or takes faults back does it, so does the end of the
        broker, and that of a test with one of the plugin's brokers.
        """
        raise_first(self._failures)


def _plain(value: object) -> object:
    """A member of an enumeration as its number, which JSON can hold."""
    return int(value) if isinstance(value, IntEnum) else value


def _words(state: dict[str, Any]) -> str:
    """What happens, to what, and how often it has."""
    meant = ("api", "version", "client_id", "topic", "partition")
    which = [str(state["api"] or "every request")]
    which += [f"{name} {state[name]}" for name in meant[1:] if state[name] is not None]
    what = " ".join(filter(None, (state["action"], state["error"])))
    return f"{what} to {', '.join(which)}; {state['hits']} of {state['seen']} hit"
