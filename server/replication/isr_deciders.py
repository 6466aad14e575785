"""Who decides on an in-sync set: the controller, or before inter-broker protocol 2.7 the registry.

AlterPartition names topics by id from version 2, and the registrations of the replicas from
version 3, so that one which has restarted meanwhile is not taken for what it was (KIP-903).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from barnabas.server.core.errors import Unanswered
from barnabas.server.peers.link import Unsupported
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.changes import Changes
from barnabas.server.registry.notices import encode_partitions
from barnabas.server.registry.partitions import Partitions, VersionedState
from barnabas.server.registry.znodes.store import BadVersion, NoNode, ZnodeError
from barnabas.server.replication.alter_partition import Agreed, Decided, Key
from barnabas.server.replication.isr_states import IsrChange
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionDataRequest,
    TopicDataRequest,
)
from barnabas.wire.uuids import ZERO_UUID

EPOCHS_SINCE: Final = 3
IDS_SINCE: Final = 2

Ask: TypeAlias = Callable[
    [AlterPartitionRequest, tuple[int, int]], Awaitable[AlterPartitionResponse]
]
"""The controller's answer, at one of these versions. Raises Unanswered."""


class ControllerDecides:
    """Changes are asked of the controller."""

    def __init__(self, broker_id: int, broker_epoch: Callable[[], int], ask: Ask) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._ask = ask

    async def decide(self, changes: Sequence[IsrChange]) -> Mapping[Key, Decided]:
        """What the controller says. Raises Unanswered where it says nothing of use."""
        response = await self._answer(changes)
        if response.error_code:
            raise Unanswered(f"the controller answers {ErrorCode(response.error_code).name}")
        names = {change.topic_id: change.key[0] for change in changes}
        decided: dict[Key, Decided] = {}
        for topic in response.topics:
            name = topic.topic_name or names.get(topic.topic_id, "")
            for each in topic.partitions:
                agreed = Agreed(each.leader_epoch, tuple(each.isr), each.partition_epoch)
                code = ErrorCode(each.error_code)
                decided[name, each.partition_index] = code if each.error_code else agreed
        return decided

    async def _answer(self, changes: Sequence[IsrChange]) -> AlterPartitionResponse:
        """Of the latest version that the controller serves; the older name replicas otherwise."""
        has_ids = all(change.topic_id != ZERO_UUID for change in changes)
        if has_ids:
            try:
                request = self._request(changes, with_epochs=True)
                return await self._ask(request, (EPOCHS_SINCE, EPOCHS_SINCE))
            except Unsupported:
                pass
        latest = IDS_SINCE if has_ids else IDS_SINCE - 1
        return await self._ask(self._request(changes, with_epochs=False), (0, latest))

    def _request(self, changes: Sequence[IsrChange], *, with_epochs: bool) -> AlterPartitionRequest:
        request = AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch()
        )
        by_topic = groupby(sorted(changes, key=lambda each: each.key), lambda each: each.key[0])
        for name, of_topic in by_topic:
            wanted = list(of_topic)
            request.topics.append(
                TopicDataRequest(
                    topic_name=name,
                    topic_id=wanted[0].topic_id,
                    partitions=[_wanted(change, with_epochs) for change in wanted],
                )
            )
        return request


def _wanted(change: IsrChange, with_epochs: bool) -> PartitionDataRequest:
    wanted = PartitionDataRequest(
        partition_index=change.key[1],
        leader_epoch=change.leader_epoch,
        partition_epoch=change.partition_epoch,
    )
    if with_epochs:
        wanted.new_isr_with_epochs = [
            BrokerState(broker_id=broker_id, broker_epoch=epoch)
            for broker_id, epoch in zip(change.isr, change.broker_epochs, strict=True)
        ]
    else:
        wanted.new_isr = list(change.isr)
    return wanted


class LeaderDecides:
    """Changes are written to the registry by the leader, and the controller is told of them.

    A state that somebody else has written meanwhile stays: the controller is about to say it. One
    that was written by ourselves, in a write whose outcome was not heard of, is what was wanted.
    """

    def __init__(self, broker_id: int, partitions: Partitions, notices: Changes) -> None:
        self._broker_id = broker_id
        self._partitions = partitions
        self._notices = notices

    async def decide(self, changes: Sequence[IsrChange]) -> Mapping[Key, Decided]:
        """What came of the writes. Raises ZnodeError where that is not known."""
        states = {
            change.key: VersionedState(self._state(change), change.partition_epoch)
            for change in changes
        }
        outcomes = await self._partitions.write(states, None)
        beaten = [key for key, outcome in outcomes.items() if isinstance(outcome, BadVersion)]
        found = await self._partitions.read(beaten) if beaten else {}
        decided: dict[Key, Decided] = {}
        for key, outcome in outcomes.items():
            state = states[key].state
            if key in found and found[key].state == state:
                outcome = found[key].partition_epoch
            decided[key] = _outcome(state, outcome)
        agreed = [key for key, each in decided.items() if isinstance(each, Agreed)]
        if agreed:
            await self._notices.add(encode_partitions(agreed))
        return decided

    def _state(self, change: IsrChange) -> PartitionState:
        return PartitionState(
            self._broker_id, change.leader_epoch, list(change.isr), change.controller_epoch
        )


def _outcome(state: PartitionState, outcome: int | ZnodeError) -> Decided:
    if isinstance(outcome, int):
        return Agreed(state.leader_epoch, tuple(state.isr), outcome)
    if isinstance(outcome, BadVersion):
        return ErrorCode.INVALID_UPDATE_VERSION
    if isinstance(outcome, NoNode):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    raise outcome
