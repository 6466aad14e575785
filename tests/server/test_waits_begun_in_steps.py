"""What happens to a partition between two steps of a request is not waited for afterwards.

A request that is served in steps looks at its partitions one after the other, and parks itself at
the end. Whoever has an event in between wakes nobody: an append that was replicated just then was
answered when its time-out of 30 s was over.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from barnabas.server.replication.partition import Partition
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import data_of, fetched, make_batch

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
        self._broker = broker

    def partition(self, index: int) -> Partition:
        found = self._broker.server.replicas.find(self.topic, index)
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

        self._broker.call(lead)

    def follower_fetches(self) -> None:
        """The follower of partition 0 has, and has deleted, what the leader has."""
        server, partition = self._broker.server, self.partition(0)
        log = partition.log
        partition.follower_fetched(FOLLOWER, 1, log.log_end_offset, log.log_start_offset)
        server.hosting.high_watermark_moved(partition.key)

    def appends(self) -> None:
        """Somebody produces to partition 0."""
        server, partition = self._broker.server, self.partition(0)
        partition.append(make_batch(b"new"), 1, server.clock.now_ms())
        server.fetches.complete(partition.key)

    @contextmanager
    def between(self, event: Callable[[], object], begun: Callable[[], bool]) -> Iterator[None]:
        """Let the event happen some steps after what `begun` says, and see that it did."""
        turns = self._broker.server.turns
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

        self._broker.call(set_in)
        yield
        assert happened.is_set()


@pytest.fixture
def stepping() -> Iterator[Stepping]:
    with Broker() as broker:
        yield Stepping(broker)


@pytest.fixture
def client(stepping: Stepping) -> Iterator[RawClient]:
    with RawClient(stepping.port) as made:
        yield made


def test_an_append_is_acknowledged_that_was_replicated_between_two_steps(
    stepping: Stepping, client: RawClient
) -> None:
    stepping.give_a_follower()
    data = [
        PartitionProduceData(index=index, records=bytes(make_batch(b"x")))
        for index in range(PARTITIONS)
    ]
    topics = [TopicProduceData(name=stepping.topic, partitions=data)]
    request = ProduceRequest(acks=-1, timeout_ms=FOREVER_MS, topics=topics)
    last = stepping.partition(PARTITIONS - 1)
    with stepping.between(stepping.follower_fetches, lambda: last.log.log_end_offset > 0):
        answer = client.call(request, 9)
    (topic,) = answer.responses
    assert {each.error_code for each in topic.partition_responses} == {ErrorCode.NONE}


@pytest.mark.parametrize("version", [3, 11], ids=["converted", "as it is"])
def test_a_fetch_is_answered_with_what_came_between_two_steps(
    stepping: Stepping, client: RawClient, version: int
) -> None:
    wanted = [
        FetchPartition(partition=index, partition_max_bytes=1 << 20) for index in range(PARTITIONS)
    ]
    topics = [FetchTopic(topic=stepping.topic, partitions=wanted)]
    request = FetchRequest(max_wait_ms=FOREVER_MS, min_bytes=1, topics=topics)
    counts = stepping.partition(SOME_STEPS).counts
    before = counts.total_fetch_requests
    with stepping.between(stepping.appends, lambda: counts.total_fetch_requests > before):
        answer = client.call(request, version)
    assert data_of(fetched(answer)[stepping.topic, 0])


def test_records_are_deleted_that_a_follower_deleted_between_two_steps(
    stepping: Stepping, client: RawClient
) -> None:
    stepping.give_a_follower()
    stepping._broker.call(stepping.appends)
    stepping._broker.call(stepping.follower_fetches)
    wanted = [
        DeleteRecordsPartition(partition_index=index, offset=-1) for index in range(PARTITIONS)
    ]
    topics = [DeleteRecordsTopic(name=stepping.topic, partitions=wanted)]
    request = DeleteRecordsRequest(topics=topics, timeout_ms=FOREVER_MS)
    first = stepping.partition(0)
    with stepping.between(stepping.follower_fetches, lambda: first.log.log_start_offset > 0):
        answer = client.call(request, 2)
    (topic,) = answer.topics
    codes = {each.partition_index: each.error_code for each in topic.partitions}
    assert codes == dict.fromkeys(range(PARTITIONS), ErrorCode.NONE)
    assert topic.partitions[0].low_watermark == 1
