"""What the brokers of a test's cluster say of the cluster, waited for until they agree."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from barnabas.server.testing.refusals import NotInTime

if TYPE_CHECKING:
    from barnabas.server.testing.member import Member

T = TypeVar("T")
PATIENCE_S: Final = 20.0
LOOK_S: Final = 0.005
NO_LEADER: Final = -1


class PartitionState(NamedTuple):
    """What a broker knows of a partition; `leader` is -1 if nobody leads."""

    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]


def partitions_of(broker: "Member", topic: str) -> list[PartitionState]:
    """What a broker knows of a topic; nothing of one that it does not know."""
    found = broker.ask("GET", "/control/topics", name=topic)["topics"]
    return [
        PartitionState(each["leader"], each["leader_epoch"], each["replicas"], each["isr"])
        for topic in found
        for each in topic["partitions"]
    ]


def partition_of(broker: "Member", topic: str, index: int) -> PartitionState:
    """What a broker knows of a partition. Raises LookupError."""
    known = partitions_of(broker, topic)
    if not 0 <= index < len(known):
        raise LookupError(f"there is no partition {topic}-{index}")
    return known[index]


def agreed_leader(brokers: "list[Member]", topic: str, index: int) -> int:
    """Who leads, if all of these brokers say so; otherwise NO_LEADER."""
    leaders = set()
    for broker in brokers:
        known = partitions_of(broker, topic)
        leaders.add(known[index].leader if index < len(known) else NO_LEADER)
    return leaders.pop() if len(leaders) == 1 else NO_LEADER


def wait(look: Callable[[], T | None], why: Callable[[], str], timeout_s: float = PATIENCE_S) -> T:
    """The first thing found that is not nothing. Raises TimeoutError, with why."""
    deadline = time.monotonic() + timeout_s
    while (found := look()) is None or found is False:
        if time.monotonic() > deadline:
            raise NotInTime(f"{why()}, after {timeout_s:g} s")
        time.sleep(LOOK_S)
    return found
