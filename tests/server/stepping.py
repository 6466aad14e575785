"""A broker that lets others have their turn after every step, and what happens between two."""

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.replication.partition import Partition
from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.uuids import Uuid
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import make_batch

FOLLOWER = 7
FOREVER_MS = 2**31 - 1
PARTITIONS = 140
"""More than any request serves at once; a step or more for each."""
SOME_STEPS = 10


class Stepping:
    """A broker that lets others have their turn after every step."""

    def __init__(self, broker: Broker) -> None:
        self.topic = broker.create_topic(unique("steps"), PARTITIONS)
        self.port = broker.port
        self.broker = broker

    def partition(self, index: int) -> Partition:
        found = self.broker.server.replicas.find(self.topic, index)
        assert found is not None
        return found

    def give_a_follower(self) -> None:
        """Partition 0 has one, in sync, which says nothing by itself."""
        partition = self.partition(0)
        partition._parts.is_alive = lambda _: True

        def lead() -> None:
            replicas = (partition.local_id, FOLLOWER)
            partition.become_leader(partition.leader_epoch + 1, replicas, replicas)
            self.follower_fetches()

        self.broker.call(lead)

    def follower_fetches(self) -> None:
        """The follower of partition 0 has, and has deleted, what the leader has."""
        server, partition = self.broker.server, self.partition(0)
        log = partition.log
        partition.follower_fetched(FOLLOWER, 1, log.log_end_offset, log.log_start_offset)
        server.hosting.high_watermark_moved(partition.key)

    def appends(self) -> None:
        """Somebody produces to partition 0."""
        server, partition = self.broker.server, self.partition(0)
        partition.append(make_batch(b"new"), 1, server.clock.now_ms())
        server.fetches.complete(partition.key)

    def loses_the_leadership(self) -> None:
        """Partition 0 is led by its follower from now on."""
        server, partition = self.broker.server, self.partition(0)
        replicas = partition.replicas
        partition.become_follower(FOLLOWER, partition.leader_epoch + 1, replicas, replicas)
        server.hosting.high_watermark_moved(partition.key)

    def leads_again(self) -> None:
        """Partition 0 is led here."""
        partition = self.partition(0)
        replicas = partition.replicas
        partition.become_leader(partition.leader_epoch + 1, replicas, replicas)

    def leads_again_with_another_record(self) -> None:
        """Partition 0 is led elsewhere, and cut, and led here again, and written to."""
        self.loses_the_leadership()
        self.partition(0).log.truncate_to(0, self.broker.server.clock.now_ms())
        self.leads_again()
        self.appends()
        self.follower_fetches()

    def is_another_topics(self) -> None:
        """Partition 0 is deleted, and made again with the topic, which is compacted now."""
        server, partition = self.broker.server, self.partition(0)
        own = partition.local_id
        config = dataclasses.replace(partition.log.config, cleanup_policy=("compact",))
        topic = TopicInfo(self.topic, Uuid(b"another topic id"), ())
        info = PartitionInfo(0, own, 0, (own,), (own,), is_new=True)
        server.replicas.delete(self.topic, [0])
        server.replicas.host(topic, info, config, server.clock.now_ms())

    def loses_its_topic(self) -> None:
        """The topic is being deleted: nobody is told of it any more."""
        with suppress(StopIteration):  # it waits for nobody
            self.broker.server.hosting.topic_forgotten(self.topic).send(None)

    def has_its_topic_made_again(self) -> None:
        """Another topic bears the name."""
        metadata = self.broker.server.metadata
        topic = metadata.topics[self.topic]
        metadata.set_topic(TopicInfo(topic.name, Uuid(b"another topic id"), topic.partitions))

    def produce_everywhere(self, acks: int = -1) -> ProduceRequest:
        """A record for each partition; one for all of them, so that it is served in steps."""
        data = [
            PartitionProduceData(index=index, records=bytes(make_batch(b"x")))
            for index in range(PARTITIONS)
        ]
        topics = [TopicProduceData(name=self.topic, partitions=data)]
        return ProduceRequest(acks=acks, timeout_ms=FOREVER_MS, topics=topics)

    def produced_while(
        self, client: RawClient, event: Callable[[], object], acks: int = -1
    ) -> dict[int, int]:
        """The error codes of a produce between whose last steps something happens."""
        last = self.partition(PARTITIONS - 1)
        with self.between(event, lambda: last.log.log_end_offset > 0):
            answer = client.call(self.produce_everywhere(acks), 9)
        (topic,) = answer.responses
        return {each.index: each.error_code for each in topic.partition_responses}

    @contextmanager
    def between(self, event: Callable[[], object], begun: Callable[[], bool]) -> Iterator[None]:
        """Let the event happen some steps after what `begun` says, and see that it did."""
        turns = self.broker.server.turns
        granted, seen, happened = turns._granted, 0, threading.Event()

        async def with_event() -> None:
            nonlocal seen
            seen += begun()
            if seen >= SOME_STEPS and not happened.is_set():
                happened.set()
                event()
            await granted()

        def set_in() -> None:
            turns._turn_ns = 0
            turns._granted = with_event  # type: ignore[method-assign]

        self.broker.call(set_in)
        yield
        assert happened.is_set()
