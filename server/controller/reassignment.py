"""Moving a partition's replicas: pure arithmetic (KIP-455, Kafka's ReplicaAssignment).

While a partition is moved its replicas are those of the target, in their order, then those that
will go. `adding` and `removing` say which of them come and go; what is left without the adding
ones is where it came from, without the removing ones where it goes.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from barnabas.server.core.errors import ApiError
from barnabas.server.registry.bodies import TopicAssignment
from barnabas.wire.error_codes import ErrorCode


class Assignment(NamedTuple):
    """The replicas of one partition."""

    replicas: Sequence[int]
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()

    @property
    def is_moving(self) -> bool:
        """Whether replicas are to come or to go."""
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> list[int]:
        """The replicas before the move."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> list[int]:
        """The replicas after the move."""
        return _without(self.replicas, self.removing)

    def towards(self, target: Sequence[int]) -> "Assignment":
        """The same on its way to other replicas, from where it came from."""
        origin = self.origin
        removing = _without(origin, target)
        return Assignment([*target, *removing], _without(target, origin), removing)

    def is_complete(self, isr: Collection[int]) -> bool:
        """Whether the move can end: every replica of the target is in sync, or nothing moves."""
        return not self.is_moving or all(each in isr for each in self.target)


def of_partition(topic: TopicAssignment, index: int) -> Assignment:
    """One partition's assignment."""
    return Assignment(
        topic.replicas[index],
        topic.adding_replicas.get(index, ()),
        topic.removing_replicas.get(index, ()),
    )


def with_partition(topic: TopicAssignment, index: int, changed: Assignment) -> TopicAssignment:
    """A topic's assignment with another one of one partition."""
    adding = {**topic.adding_replicas, index: changed.adding}
    removing = {**topic.removing_replicas, index: changed.removing}
    return topic._replace(
        replicas={**topic.replicas, index: changed.replicas},
        adding_replicas={each: ids for each, ids in adding.items() if ids},
        removing_replicas={each: ids for each, ids in removing.items() if ids},
    )


def judge(
    now: Assignment, target: Sequence[int], online: Collection[int] | None, *, may_resize: bool
) -> None:
    """Raise ApiError unless a partition may be moved there; `online` None: on any broker.

    INVALID_REPLICA_ASSIGNMENT, or INVALID_REPLICATION_FACTOR where the number of replicas has to
    stay (KIP-860).
    """
    if not target:
        raise _bad("An assignment without replicas.")
    if len(set(target)) != len(target):
        raise _bad(f"A broker is named twice in {list(target)}.")
    if min(target) < 0:
        raise _bad(f"There is no broker {min(target)}.")
    if not may_resize and len(target) != len(now.origin):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor would change from {len(now.origin)} to {len(target)}.",
        )
    added = () if online is None else now.towards(target).adding
    if dead := [each for each in added if online is not None and each not in online]:
        raise _bad(f"Replicas are added on brokers that are not live: {dead}.")


def _without(replicas: Sequence[int], others: Sequence[int]) -> list[int]:
    gone = frozenset(others)
    return [each for each in replicas if each not in gone]


def _bad(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
