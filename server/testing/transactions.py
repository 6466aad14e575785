"""`broker.transactions`: every transactional id and how its transaction stands."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.server.testing.refusals import ms_of

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker

PATH = "/control/transactions"


class SeenTransaction(NamedTuple):
    """A transactional id as its coordinator has it; what is being written does not count yet.

    `state` is Kafka's name for it ("Ongoing"); `partitions` are (topic, index), those of an open
    transaction or, while its end is being made known, of that.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: tuple[tuple[str, int], ...]


class TestTransactions:
    """The transactional ids of a test's broker, in the order of their names."""

    __test__ = False

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def __iter__(self) -> Iterator[SeenTransaction]:
        return iter(self._find({}))

    def __len__(self) -> int:
        return len(self._find({}))

    def of(self, transactional_id: str) -> SeenTransaction:
        """One of them. Raises LookupError."""
        for found in self._find({"transactional_id": transactional_id}, "transactions.of"):
            return found
        raise LookupError(f"there is no transactional id {transactional_id}")

    def wait_for(
        self, transactional_id: str, state: str, timeout_s: float = 10.0
    ) -> SeenTransaction:
        """Wait until a transactional id is in a state. Raises TimeoutError, ValueError."""
        timeout_ms = ms_of("transactions.wait_for", timeout_s)
        wanted = {"transactional_id": transactional_id, "state": state, "count": 1}
        return self._find({**wanted, "timeout_ms": timeout_ms}, "transactions.wait_for")[0]

    def _find(
        self, given: Mapping[str, object], method: str = "transactions"
    ) -> list[SeenTransaction]:
        found = self._broker.command(method, "GET", PATH, **given)["transactions"]
        return [_seen(each) for each in found]


def _seen(given: Mapping[str, Any]) -> SeenTransaction:
    partitions = tuple((topic, index) for topic, index in given["partitions"])
    return SeenTransaction(**{**given, "partitions": partitions})
