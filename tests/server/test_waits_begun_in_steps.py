"""What happens to a partition between two steps of a request is not waited for afterwards.

A request that is served in steps looks at its partitions one after the other, and parks itself at
the end. Whoever has an event in between wakes nobody: an append that was replicated just then was
answered when its time-out of 30 s was over.
"""

from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.server.raw_client import RawClient
from tests.server.records import data_of, fetched
from tests.server.stepping import FOLLOWER, FOREVER_MS, PARTITIONS, SOME_STEPS, Stepping


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
    codes = stepping.produced_while(client, stepping.follower_fetches)
    assert set(codes.values()) == {ErrorCode.NONE}


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


def test_what_a_follower_is_known_to_have_is_acknowledged_before_the_rest_is_read(
    stepping: Stepping, client: RawClient
) -> None:
    """The rest may be on a disk, which takes its time."""
    stepping.give_a_follower()
    stepping.broker.call(stepping.appends)
    wanted = [
        FetchPartition(
            partition=index, fetch_offset=1 if index == 0 else 0, log_start_offset=0,
            current_leader_epoch=-1, partition_max_bytes=1 << 20,
        )
        for index in range(PARTITIONS)
    ]  # fmt: skip
    topics = [FetchTopic(topic=stepping.topic, partitions=wanted)]
    request = FetchRequest(replica_id=FOLLOWER, max_wait_ms=0, topics=topics)
    first, produces = stepping.partition(0), stepping.broker.server.produces
    wait = stepping.broker.call(
        lambda: produces.park(
            [first.key], FOREVER_MS, lambda _: first.log.high_watermark > 0, lambda: None
        )
    )
    were_done = []
    with stepping.between(
        lambda: were_done.append(wait.done), lambda: first.log.high_watermark > 0
    ):
        client.call(request, 11)
    assert were_done == [True]


def test_records_are_deleted_that_a_follower_deleted_between_two_steps(
    stepping: Stepping, client: RawClient
) -> None:
    stepping.give_a_follower()
    stepping.broker.call(stepping.appends)
    stepping.broker.call(stepping.follower_fetches)
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
