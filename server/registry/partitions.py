"""Partition states: leader, epochs and in-sync replicas, written by whoever leads.

The version of the state's znode is the *partition epoch*: every write names the one it builds
on, and of two that build on the same only the first happens. The controller's writes are fenced
by its epoch besides; below inter-broker protocol 2.7 leaders write their own ISR without that.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.controller import ControllerEpoch, raise_if_moved
from barnabas.server.registry.znodes.store import (
    Create,
    NodeExists,
    Op,
    Result,
    SetData,
    Stat,
    ZnodeError,
    ZnodeStore,
)

TopicPartition: TypeAlias = tuple[str, int]


class VersionedState(NamedTuple):
    """A partition's state and the partition epoch it was read or is to be written at."""

    state: PartitionState
    partition_epoch: int


class Partitions:
    """The states of all partitions."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store

    async def create(
        self, states: Mapping[TopicPartition, PartitionState], epoch: ControllerEpoch
    ) -> dict[TopicPartition, ZnodeError]:
        """Make the znodes of new partitions; returns those whose state was not written.

        NodeExists among them: another controller has made the state. Raises ControllerMoved.
        """
        parents = [paths.partitions(topic) for topic in dict.fromkeys(t for t, _ in states)]
        parents += [paths.partition(*partition) for partition in states]
        made: list[Op] = [Create(path) for path in parents]
        made += [
            Create(paths.partition_state(*partition), bodies.encode_partition_state(state))
            for partition, state in states.items()
        ]
        outcomes = await self._store.pipeline([epoch.fence(op) for op in made])
        _raise_unless_made(outcomes[: len(parents)])
        return _refused(states, outcomes[len(parents) :])

    async def read(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, VersionedState]:
        """Return the states; a partition without one is left out."""
        znodes = await self._store.get_many([paths.partition_state(*p) for p in partitions])
        return {
            partition: VersionedState(bodies.decode_partition_state(znode.data), znode.stat.version)
            for partition, znode in zip(partitions, znodes, strict=True)
            if znode is not None and znode.data
        }

    async def write(
        self,
        states: Mapping[TopicPartition, VersionedState],
        epoch: ControllerEpoch | None,
    ) -> dict[TopicPartition, int | ZnodeError]:
        """Replace states that still have the partition epoch given with each.

        Returns the new partition epoch of each, or why it was refused: BadVersion when somebody
        else wrote, NoNode when it is gone. Raises ControllerMoved.
        """
        outcomes = await self._store.pipeline(
            [_write(partition, versioned, epoch) for partition, versioned in states.items()]
        )
        return {
            partition: _new_partition_epoch(outcome)
            for partition, outcome in zip(states, outcomes, strict=True)
        }


def _write(
    partition: TopicPartition, versioned: VersionedState, epoch: ControllerEpoch | None
) -> list[Op]:
    path = paths.partition_state(*partition)
    body = bodies.encode_partition_state(versioned.state)
    write = SetData(path, body, versioned.partition_epoch)
    return [write] if epoch is None else epoch.fence(write)


def _new_partition_epoch(outcome: list[Result] | ZnodeError) -> int | ZnodeError:
    raise_if_moved(outcome)
    if isinstance(outcome, ZnodeError):
        return outcome
    stat = outcome[-1]
    assert isinstance(stat, Stat)
    return stat.version


def _raise_unless_made(outcomes: Iterable[list[Result] | ZnodeError]) -> None:
    for outcome in outcomes:
        raise_if_moved(outcome)
        if isinstance(outcome, ZnodeError) and not isinstance(outcome, NodeExists):
            raise outcome


def _refused(
    partitions: Iterable[TopicPartition], outcomes: Iterable[list[Result] | ZnodeError]
) -> dict[TopicPartition, ZnodeError]:
    refused: dict[TopicPartition, ZnodeError] = {}
    for partition, outcome in zip(partitions, outcomes, strict=True):
        raise_if_moved(outcome)
        if isinstance(outcome, ZnodeError):
            refused[partition] = outcome
    return refused
