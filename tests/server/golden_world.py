"""The state that a golden answer tells of, made in a broker before its request is sent.

Kafka's answer shows which topics there were, how far their partitions reached, who was in a
group: as much is made here, by requests where that is possible. What only the client knew
(member ids, generations) is put into the request instead, since brokers make those up.
"""

import time
from collections.abc import Callable
from typing import Any

from barnabas.server.settings.describe import ConfigSource
from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.uuids import ZERO_UUID, Uuid
from tests.server.admin import BROKER, SET, TOPIC, alter, resource
from tests.server.golden_frames import Frame
from tests.server.golden_groups import STEPS as GROUP_STEPS
from tests.server.golden_transactions import STEPS as TRANSACTION_STEPS
from tests.server.raw_client import RawClient
from tests.server.records import Producer, make_batch, produce

PARTITIONS = {"w1": 2, "pk": 4, "t1": 3, "__consumer_offsets": 4, "__transaction_state": 2}
BROKER_ID = 1
OTHER_ID = 2


class World:
    """A broker about to be asked one golden request."""

    def __init__(self, broker: Broker, client: RawClient) -> None:
        self.broker = broker
        self.client = client
        self._others: list[RawClient] = []

    def another_client(self, client_id: str) -> RawClient:
        """One more connection, open until `close`."""
        self._others.append(RawClient(self.broker.port, client_id))
        return self._others[-1]

    def close(self) -> None:
        """Close the other connections."""
        for client in self._others:
            client.sock.close()

    def topic(self, name: str, partitions: int = 0, topic_id: Uuid = ZERO_UUID) -> str:
        """See to it that a topic exists, with the id that the request names."""
        count = partitions or PARTITIONS.get(name, 1)
        registry, topics = self.broker.server.registry, self.broker.server.topics

        async def make() -> None:
            if name not in self.broker.server.metadata.topics:
                replicas = {index: [BROKER_ID] for index in range(count)}
                wanted = None if topic_id == ZERO_UUID else topic_id
                await registry.topics.create(name, replicas, {}, wanted)
            await topics.wait_until_served(name, 10_000, count)

        self.broker.run(make())
        return name

    def fill(self, topic: str, partition: int, end: int, start: int = 0) -> None:
        """Let a partition reach from `start` to `end`."""
        if end > 0:
            values = [b"x"] * end
            batch = make_batch(*values, timestamps=[int(time.time() * 1000)] * end)
            assert produce(self.client, topic, batch, partition=partition).error_code == 0
        if start > 0:
            wanted = DeleteRecordsPartition(partition_index=partition, offset=start)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=5000
            )
            assert self.client.call(request, 2).topics[0].partitions[0].error_code == 0

    def lead(self, topic: str, partition: int, epoch: int) -> None:
        """Begin a leader epoch, in a cluster of three whose other brokers are out of sync."""
        replicas = self.broker.server.replicas
        self.broker.call(
            lambda: replicas.require(topic, partition).become_leader(epoch, (1, 2, 3), (BROKER_ID,))
        )


def prepare(world: World, frame: Frame, request: Any) -> None:
    """Make the state of a frame; what only its client knew is changed in `request`."""
    answer: Any = frame.answer()
    step = STEPS.get(frame.key)
    if step is not None and answer is not None:
        step(world, request, answer)


def _produce(world: World, request: Any, answer: Any) -> None:
    for topic in answer.responses:
        name = world.topic(topic.name or "w1", topic_id=topic.topic_id)
        for part in topic.partition_responses:
            world.fill(name, part.index, part.base_offset, max(0, part.log_start_offset))


def _fetch(world: World, request: Any, answer: Any) -> None:
    names = {}
    for number, topic in enumerate(answer.responses):
        name = world.topic(topic.topic or f"known-{number}", 4, topic_id=topic.topic_id)
        names[topic.topic, topic.topic_id] = name
        for part in topic.partitions:
            start = 19 if part.error_code else max(0, part.log_start_offset)
            world.fill(name, part.partition_index, max(start, part.high_watermark), start)
    if request.replica_id == BROKER_ID:  # who led was another
        request.replica_id = OTHER_ID
    if request.replica_state is not None and request.replica_state.replica_id == BROKER_ID:
        request.replica_state.replica_id = OTHER_ID
    for asked in request.topics:
        for question in asked.partitions:
            if question.current_leader_epoch >= 0:
                name = names[asked.topic, asked.topic_id]
                world.lead(name, question.partition, question.current_leader_epoch)


def _write_txn_markers(world: World, request: Any, answer: Any) -> None:
    for marker in answer.markers:
        for topic in marker.topics:
            world.topic(topic.name)


def _list_offsets(world: World, request: Any, answer: Any) -> None:
    for topic in answer.topics:
        world.topic(topic.name)
        for part in topic.partitions:
            offset = max([part.offset, 0, *part.old_style_offsets])
            world.fill(topic.name, part.partition_index, offset, offset)


def _metadata(world: World, request: Any, answer: Any) -> None:
    for topic in answer.topics:
        if not topic.error_code:
            world.topic(topic.name, len(topic.partitions), topic.topic_id)


def _all_named(world: World, request: Any, answer: Any) -> None:
    for name in _named(request):
        world.topic(name)


def _named(request: Any) -> list[str]:
    """The topics that a request about topics or settings names."""
    if hasattr(request, "resources"):
        return [r.resource_name for r in request.resources if r.resource_type == TOPIC]
    if hasattr(request, "topic_names"):
        return list(request.topic_names)
    return [topic.name for topic in request.topics]


def _delete_records(world: World, request: Any, answer: Any) -> None:
    _all_named(world, request, answer)
    for topic in answer.topics:
        for part in topic.partitions:
            world.fill(topic.name, part.partition_index, 19, part.low_watermark)


def _create_topics(world: World, request: Any, answer: Any) -> None:
    for topic in answer.topics:
        _set_defaults(world, topic.configs)


def _describe_configs(world: World, request: Any, answer: Any) -> None:
    _all_named(world, request, answer)
    for result in answer.results:
        _set_defaults(world, result.configs)
        for config in result.configs:
            if config.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG:
                change = resource(TOPIC, result.resource_name, (config.name, SET, config.value))
                assert alter(world.client, change)[0][0] == 0


def _set_defaults(world: World, configs: Any) -> None:
    """What was set for all brokers."""
    for config in configs:
        if config.config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG:
            change = resource(BROKER, "", (config.name, SET, config.value))
            assert alter(world.client, change)[0][0] == 0


def _describe_log_dirs(world: World, request: Any, answer: Any) -> None:
    for result in answer.results:
        for topic in result.topics:
            world.topic(topic.name, 1 + max(p.partition_index for p in topic.partitions))


def _elect_leaders(world: World, request: Any, answer: Any) -> None:
    for topic in answer.replica_election_results:
        world.topic(topic.topic)


def _alter_partition_reassignments(world: World, request: Any, answer: Any) -> None:
    """Partitions that move are there."""
    for topic in answer.responses:
        if any(each.error_code == 0 for each in topic.partitions):
            world.topic(topic.name, 1 + max(each.partition_index for each in topic.partitions))


def _describe_producers(world: World, request: Any, answer: Any) -> None:
    now_ms = int(time.time() * 1000)
    for topic in answer.topics:
        world.topic(topic.name)
        for part in topic.partitions:
            for known in part.active_producers:
                producer = Producer(known.producer_id, known.producer_epoch)
                sequence = max(0, known.last_sequence)
                batch = make_batch(b"x", timestamps=[now_ms], producer=producer, sequence=sequence)
                produce(world.client, topic.name, batch, partition=part.partition_index)


def _offset_for_leader_epoch(world: World, request: Any, answer: Any) -> None:
    """The epoch that was found ends where the answer says; then the current one begins."""
    for asked, found in zip(request.topics, answer.topics, strict=True):
        for question, part in zip(asked.partitions, found.partitions, strict=True):
            if part.error_code:
                continue
            world.topic(found.topic)
            if part.leader_epoch > 0:
                world.lead(found.topic, part.partition, part.leader_epoch)
            world.fill(found.topic, part.partition, part.end_offset)
            if question.current_leader_epoch > part.leader_epoch:
                world.lead(found.topic, part.partition, question.current_leader_epoch)


STEPS: dict[ApiKey, Callable[[World, Any, Any], None]] = {
    **GROUP_STEPS,
    **TRANSACTION_STEPS,
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKey.METADATA: _metadata,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _all_named,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.CREATE_PARTITIONS: _all_named,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _all_named,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _all_named,
    ApiKey.DESCRIBE_LOG_DIRS: _describe_log_dirs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _metadata,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
}
