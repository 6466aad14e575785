"""What the controller tells this broker: LeaderAndIsr, UpdateMetadata, StopReplica.

Each names the controller's epoch and the broker's. A controller that has been replaced is refused
STALE_CONTROLLER_EPOCH; what was meant for this broker's former registration, STALE_BROKER_EPOCH.
One request is carried out after the other. A leader epoch that is not newer than the known one
changes nothing, and its partition answers STALE_CONTROLLER_EPOCH: controllers do repeat them.
(ReplicaManager.becomeLeaderOrFollower, stopReplicas, maybeUpdateMetadataCache.)
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, Protocol, TypeVar

from barnabas.server.cluster.control_values import (
    LEADER_DURING_DELETION,
    SECURITY_PROTOCOLS,
    WHOLE,
)
from barnabas.server.cluster.metadata import (
    NO_LEADER,
    BrokerInfo,
    ClusterMetadata,
    Endpoint,
    PartitionInfo,
    TopicInfo,
)
from barnabas.server.core.errors import code_of, is_expected
from barnabas.server.core.topic_names import name_fault
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.replication.hosting import Hosting
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)
from barnabas.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from barnabas.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)

ANY_BROKER_EPOCH: Final = -1  # of a controller that knows no broker epochs
TOPIC_IDS_SINCE: Final = 5  # of LeaderAndIsr
MOST_UNKNOWN: Final = 10_000
"""Partitions of a topic that may be missing before one that is told; what lies farther is not."""
LISTENERS: Final = {number: name for name, number in SECURITY_PROTOCOLS.items()}
"""Names by security protocol: before version 3 listeners had none of their own."""

S = TypeVar("S")


class Fenced(Protocol):
    """What every request of a controller says."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int


class ControlRequests:
    """The requests of controllers to one broker."""

    def __init__(
        self,
        broker_id: int,
        metadata: ClusterMetadata,
        hosting: Hosting,
        broker_epoch: Callable[[], int],
        turns: Turns,
        log: Log,
    ) -> None:
        self._broker_id = broker_id
        self._metadata = metadata
        self._hosting = hosting
        self._broker_epoch = broker_epoch
        self._turns = turns
        self._log = log
        self._turn = asyncio.Lock()  # one request after the other, in the order of their coming
        self.controller_epoch = 0
        """The highest that was heard of."""

    async def leader_and_isr(
        self, request: LeaderAndIsrRequest, version: int
    ) -> LeaderAndIsrResponse:
        """Lead or follow partitions; from version 5 the errors stand by topic id."""
        async with self._turn:
            if (refusal := self._refusal(request)) is not None:
                return LeaderAndIsrResponse(error_code=int(refusal))
            response = LeaderAndIsrResponse()
            pauses = self._turns.pauses()
            for topic in _led_topics(request):
                await pauses.pause()
                states = sorted(topic.partition_states, key=lambda state: state.partition_index)
                infos = tuple(map(_led, states))
                codes = await self._take_roles(TopicInfo(topic.topic_name, topic.topic_id, infos))
                errors = [
                    LeaderAndIsrPartitionError(
                        topic_name=topic.topic_name, partition_index=index, error_code=int(code)
                    )
                    for index, code in codes.items()
                ]
                if version >= TOPIC_IDS_SINCE:
                    response.topics.append(
                        LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=errors)
                    )
                else:
                    response.partition_errors += errors
            return response

    async def _take_roles(self, topic: TopicInfo) -> dict[int, ErrorCode]:
        """What came of each partition; a topic that fails keeps no other waiting."""
        if (fault := name_fault(topic.name)) is not None:
            return dict.fromkeys((info.index for info in topic.partitions), fault.code)
        try:
            return await self._hosting.lead_or_follow(topic)
        except Exception as error:
            what = "partitions could be neither led nor followed"
            if is_expected(error):
                self._log.error(what, topic=topic.name, error=error)
            else:
                self._log.unexpected(what, error, topic=topic.name)
            return dict.fromkeys((info.index for info in topic.partitions), code_of(error))

    async def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Know brokers and partitions as clients are told of them."""
        async with self._turn:
            if (refusal := self._refusal(request)) is not None:
                return UpdateMetadataResponse(error_code=int(refusal))
            metadata = self._metadata
            metadata.controller_id = request.controller_id
            self._know_brokers(map(_broker, request.live_brokers))
            named, pauses = set(), self._turns.pauses()
            for topic in _shown_topics(request):
                await pauses.pause()
                named.add(topic.topic_name)
                await self._show(topic)
            if request.type == WHOLE:
                for name in metadata.topics.keys() - named:
                    await self._hosting.topic_forgotten(name)
            metadata.is_told = True
            return UpdateMetadataResponse()

    def _know_brokers(self, live: Iterable[BrokerInfo]) -> None:
        """Clients are always told of this one, too: they have found it."""
        own = self._metadata.brokers.get(self._broker_id)
        brokers = {broker.broker_id: broker for broker in live}
        if own is not None:
            brokers[self._broker_id] = own
        self._metadata.brokers = dict(sorted(brokers.items()))

    async def _show(self, topic: UpdateMetadataTopicState) -> None:
        name = topic.topic_name
        if name_fault(name) is not None:
            return
        if any(state.leader == LEADER_DURING_DELETION for state in topic.partition_states):
            await self._hosting.topic_forgotten(name)
            return
        known = self._metadata.topics.get(name)
        if known is not None and known.topic_id != topic.topic_id:
            known = None
        infos = {info.index: info for info in known.partitions} if known is not None else {}
        most = len(infos) + len(topic.partition_states) + MOST_UNKNOWN
        for state in topic.partition_states:
            if 0 <= state.partition_index < most:
                infos[state.partition_index] = _shown(state)
        count = max(infos, default=-1) + 1
        partitions = tuple(infos.get(index) or _unknown(index) for index in range(count))
        shown = TopicInfo(name, topic.topic_id, partitions)
        await self._hosting.topic_shown(shown)
        await self._hosting.give_up_strays(shown)

    async def stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Give up replicas, and the logs of those that are deleted."""
        async with self._turn:
            if (refusal := self._refusal(request)) is not None:
                return StopReplicaResponse(error_code=int(refusal))
            response = StopReplicaResponse()
            pauses = self._turns.pauses()
            for topic in _stopped_topics(request):
                await pauses.pause()
                stopped = {
                    state.partition_index: (state.leader_epoch, state.delete_partition)
                    for state in topic.partition_states
                }
                codes = await self._stop(topic.topic_name, stopped)
                response.partition_errors += [
                    StopReplicaPartitionError(
                        topic_name=topic.topic_name, partition_index=index, error_code=int(code)
                    )
                    for index, code in codes.items()
                ]
            return response

    async def _stop(
        self, name: str, stopped: Mapping[int, tuple[int, bool]]
    ) -> dict[int, ErrorCode]:
        if (fault := name_fault(name)) is not None:
            return dict.fromkeys(stopped, fault.code)
        return await self._hosting.stop_replicas(name, stopped)

    def _refusal(self, request: Fenced) -> ErrorCode | None:
        """Why a request is not carried out; else its controller is the latest."""
        if request.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if ANY_BROKER_EPOCH != request.broker_epoch < self._broker_epoch():
            return ErrorCode.STALE_BROKER_EPOCH
        self.controller_epoch = request.controller_epoch
        return None


# Before they were grouped by topic, partitions named theirs.


def _led_topics(request: LeaderAndIsrRequest) -> Iterator[LeaderAndIsrTopicState]:
    yield from request.topic_states
    by_name = _by_topic(request.ungrouped_partition_states, lambda state: state.topic_name)
    for name, states in by_name:
        yield LeaderAndIsrTopicState(topic_name=name, partition_states=states)


def _shown_topics(request: UpdateMetadataRequest) -> Iterator[UpdateMetadataTopicState]:
    yield from request.topic_states
    by_name = _by_topic(request.ungrouped_partition_states, lambda state: state.topic_name)
    for name, states in by_name:
        yield UpdateMetadataTopicState(topic_name=name, partition_states=states)


def _stopped_topics(request: StopReplicaRequest) -> Iterator[StopReplicaTopicState]:
    yield from request.topic_states
    indexes = [(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    indexes += [(each.topic_name, each.partition_index) for each in request.ungrouped_partitions]
    for name, pairs in _by_topic(indexes, lambda pair: pair[0]):
        yield StopReplicaTopicState(
            topic_name=name,
            partition_states=[
                StopReplicaPartitionState(
                    partition_index=index, delete_partition=request.delete_partitions
                )
                for _, index in pairs
            ],
        )


def _by_topic(items: Iterable[S], name_of: Callable[[S], str]) -> Iterator[tuple[str, list[S]]]:
    for name, of_topic in groupby(sorted(items, key=name_of), name_of):
        yield name, list(of_topic)


def _led(state: LeaderAndIsrPartitionState) -> PartitionInfo:
    return PartitionInfo(
        state.partition_index, state.leader, state.leader_epoch,
        tuple(state.replicas), tuple(state.isr), is_new=state.is_new,
        partition_epoch=state.partition_epoch, controller_epoch=state.controller_epoch,
        adding=tuple(state.adding_replicas), removing=tuple(state.removing_replicas),
    )  # fmt: skip


def _shown(state: UpdateMetadataPartitionState) -> PartitionInfo:
    return PartitionInfo(
        state.partition_index, state.leader, state.leader_epoch,
        tuple(state.replicas), tuple(state.isr), tuple(state.offline_replicas),
        partition_epoch=state.zk_version, controller_epoch=state.controller_epoch,
    )  # fmt: skip


def _unknown(index: int) -> PartitionInfo:
    """A partition of which only its number is known: others, behind it, have been decided."""
    return PartitionInfo(index, NO_LEADER, -1, (), ())


def _broker(broker: UpdateMetadataBroker) -> BrokerInfo:
    endpoints = {
        each.listener or LISTENERS.get(each.security_protocol, ""): Endpoint(each.host, each.port)
        for each in broker.endpoints
    }
    if not broker.endpoints:
        endpoints = {LISTENERS[0]: Endpoint(broker.v0_host, broker.v0_port)}
    return BrokerInfo(broker.id, endpoints, broker.rack or None)
