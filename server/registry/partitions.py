"""Partition states: leader, epochs and in-sync replicas, written by whoever leads.

The version of the state's znode is the *partition epoch*: every write names the one it builds
on, and of two that build on the same only the first happens. The controller's writes are fenced
by its epoch besides; below inter-broker protocol 2.7 leaders write their own ISR without that.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

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
    Watch,
    ZnodeError,
    ZnodeStore,
)

TopicPartition: TypeAlias = tuple[str, int]
AT_ONCE: Final = 128


class VersionedState(NamedTuple):
    """A partition's state and the partition epoch it was read or is to be written at."""

    state: PartitionState
    partition_epoch: int


class Partitions:
    """The states of all partitions.

    Of many, `AT_ONCE` are read or written at a time, and others are served in between: a topic may
    have 10,000.
    """

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store

    async def create(
        self, states: Mapping[TopicPartition, PartitionState], epoch: ControllerEpoch
    ) -> dict[TopicPartition, ZnodeError]:
        """Make the znodes of new partitions; returns those whose state was not written.

        NodeExists among them: another controller has made the state. Raises ControllerMoved.
        """
        refused: dict[TopicPartition, ZnodeError] = {}
        async for some in _few_at_a_time(states):
            refused.update(await self._create({key: states[key] for key in some}, epoch))
        return refused

    async def _create(
        self, states: Mapping[TopicPartition, PartitionState], epoch: ControllerEpoch
    ) -> dict[TopicPartition, ZnodeError]:
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
        self,
        partitions: Sequence[TopicPartition],
        watch: Watch | None = None,
        written: dict[TopicPartition, int] | None = None,
    ) -> dict[TopicPartition, VersionedState]:
        """Return the states, and watch each come, go and change; one without is left out.

        `written` gets the transaction id (mzxid) of each one's last write.
        """
        states: dict[TopicPartition, VersionedState] = {}
        async for some in _few_at_a_time(partitions):
            if watch is not None:
                await self._store.exists_many([paths.partition_state(*key) for key in some], watch)
            states.update(await self._read(some, {} if written is None else written))
        return states

    async def _read(
        self, partitions: Sequence[TopicPartition], written: dict[TopicPartition, int]
    ) -> dict[TopicPartition, VersionedState]:
        znodes = await self._store.get_many([paths.partition_state(*p) for p in partitions])
        written.update(
            (partition, znode.stat.mzxid)
            for partition, znode in zip(partitions, znodes, strict=True)
            if znode is not None
        )
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
        written: dict[TopicPartition, int | ZnodeError] = {}
        async for some in _few_at_a_time(states):
            outcomes = await self._store.pipeline([_write(key, states[key], epoch) for key in some])
            for key, outcome in zip(some, outcomes, strict=True):
                written[key] = _new_partition_epoch(outcome)
        return written


async def _few_at_a_time(
    partitions: Iterable[TopicPartition],
) -> AsyncIterator[list[TopicPartition]]:
    """The partitions in pieces, everybody else's turn between two."""
    waiting = iter(partitions)
    while some := list(islice(waiting, AT_ONCE)):
        yield some
        await asyncio.sleep(0)


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
