"""The broker that leads what is followed, as its fetcher asks it.

Requests have the version that the inter-broker protocol implies, whatever the broker could do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from barnabas.server.core.errors import Unanswered
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.peers.peer import Address, Peer
from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.replication.fetching.followed import Followed
from barnabas.server.replication.fetching.session import Asked
from barnabas.server.replication.fetching.truncation import EpochEnd
from barnabas.server.replication.fetching.versions import (
    REPLICA_STATE_SINCE,
    TOPIC_IDS_SINCE,
    version_of,
)
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode, code_numbered
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse, ReplicaState
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.wire.schema import Message

EARLIEST: Final = -2
LATEST: Final = -1
ASKED_APIS: Final = (ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH)

EpochEnds = Mapping[TopicPartition, EpochEnd | ErrorCode]
Offsets = Mapping[TopicPartition, int | ErrorCode]


class Asking(NamedTuple):
    """Who asks, and how."""

    broker_id: int
    broker_epoch: Callable[[], int]
    config: BrokerConfig
    protocol: ProtocolVersion


class Leader:
    """One broker, over one connection; every method raises Unanswered."""

    def __init__(self, asking: Asking, peer: Peer, find: Callable[[], Address | None]) -> None:
        """`find` says where the broker listens for others; None while it is not live."""
        self._asking = asking
        self._versions = {api: version_of(api, asking.protocol) for api in ASKED_APIS}
        self._peer = peer
        self._find = find

    async def fetch(self, asked: Asked) -> FetchResponse:
        """Fetch; records in the answer are good until something else is asked."""
        who, config = self._asking, self._asking.config
        version = self._versions[ApiKey.FETCH]
        if not asked.by_id:
            version = min(version, TOPIC_IDS_SINCE - 1)
        request = FetchRequest(
            max_wait_ms=0 if asked.left else config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=asked.session_id,
            session_epoch=asked.session_epoch,
            topics=asked.topics,
            forgotten_topics_data=asked.forgotten,
        )
        if version >= REPLICA_STATE_SINCE:
            request.replica_state = ReplicaState(
                replica_id=who.broker_id, replica_epoch=who.broker_epoch()
            )
        else:
            request.replica_id = who.broker_id
        answer = await self._ask(request, version)
        assert isinstance(answer, FetchResponse)
        return answer

    async def epoch_ends(self, asked: Iterable[tuple[Followed, int]]) -> EpochEnds:
        """Where epochs end; a partition without an answer is missing."""
        topics: dict[str, OffsetForLeaderTopic] = {}
        for followed, epoch in asked:
            name, index = followed.key
            topic = topics.setdefault(name, OffsetForLeaderTopic(topic=name))
            topic.partitions.append(
                OffsetForLeaderPartition(
                    partition=index,
                    current_leader_epoch=followed.leader_epoch,
                    leader_epoch=epoch,
                )
            )
        request = OffsetForLeaderEpochRequest(
            replica_id=self._asking.broker_id, topics=list(topics.values())
        )
        answer = await self._ask(request)
        assert isinstance(answer, OffsetForLeaderEpochResponse)
        return {
            (topic.topic, each.partition): EpochEnd(each.leader_epoch, each.end_offset)
            if not each.error_code
            else code_numbered(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }

    async def offsets(self, followed: Sequence[Followed], timestamp: int) -> Offsets:
        """The offsets at EARLIEST or LATEST; a partition without an answer is missing."""
        topics: dict[str, ListOffsetsTopic] = {}
        for each in followed:
            name, index = each.key
            topic = topics.setdefault(name, ListOffsetsTopic(name=name))
            topic.partitions.append(
                ListOffsetsPartition(
                    partition_index=index,
                    current_leader_epoch=each.leader_epoch,
                    timestamp=timestamp,
                )
            )
        request = ListOffsetsRequest(
            replica_id=self._asking.broker_id, topics=list(topics.values())
        )
        answer = await self._ask(request)
        assert isinstance(answer, ListOffsetsResponse)
        found: dict[TopicPartition, int | ErrorCode] = {}
        for listed in answer.topics:
            for part in listed.partitions:
                offset = next(iter(part.old_style_offsets), part.offset)
                code = part.error_code
                found[listed.name, part.partition_index] = code_numbered(code) if code else offset
        return found

    async def _ask(self, request: Message, version: int | None = None) -> Message:
        address = self._find()
        if address is None:
            self._peer.close("the broker has left the cluster")
            raise Unanswered("the broker is not live")
        if version is None:
            assert request.API_KEY is not None
            version = self._versions[request.API_KEY]
        answer: Message = await self._peer.send(address, request, (version, version))
        return answer

    def close(self) -> None:
        """End the connection."""
        self._peer.close("nothing is followed there any more")
