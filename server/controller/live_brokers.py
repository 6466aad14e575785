"""The brokers that live, as the controller has them from the registry: who has come, who has gone.

A broker that went away and came back between two looks has a new epoch, and counts as both gone
and come: what it led, it leads no more.
"""

from typing import NamedTuple

from barnabas.server.registry.brokers import Brokers, RegisteredBroker
from barnabas.server.registry.znodes.store import Watch


class Arrivals(NamedTuple):
    """What differs from the look before; a broker that has restarted is in both.

    `moved` are those that are reached elsewhere now, under the same registration.
    """

    gone: frozenset[int]
    come: frozenset[int]
    moved: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        """Whether anything has changed."""
        return bool(self.gone or self.come or self.moved)


class LiveBrokers:
    """The registered brokers, as they were last seen."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.by_id: dict[int, RegisteredBroker] = {}

    @property
    def ids(self) -> frozenset[int]:
        """Who lived at the last look."""
        return frozenset(self.by_id)

    def epochs(self) -> dict[int, int]:
        """Their registrations' epochs."""
        return {broker_id: broker.epoch for broker_id, broker in self.by_id.items()}

    async def look(self, watch: Watch) -> Arrivals:
        """Read the registrations, and watch them come and go."""
        found = await self._brokers.read_all(watch)
        before, self.by_id = self.by_id, found
        return Arrivals(
            frozenset(each for each in before if not _is_same(before, found, each)),
            frozenset(each for each in found if not _is_same(before, found, each)),
            frozenset(
                each
                for each, broker in found.items()
                if _is_same(before, found, each) and before[each] != broker
            ),
        )

    def forget(self) -> None:
        """See everybody anew at the next look."""
        self.by_id = {}


def _is_same(
    before: dict[int, RegisteredBroker], after: dict[int, RegisteredBroker], broker_id: int
) -> bool:
    """Whether a broker lives on under the same registration."""
    one, other = before.get(broker_id), after.get(broker_id)
    return one is not None and other is not None and one.epoch == other.epoch
