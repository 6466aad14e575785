"""A broker's requests to itself: tests see them, and can make them go wrong."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import pytest

from barnabas.server.replication.partition import Partition
from barnabas.server.testing.broker import Broker
from barnabas.server.testing.predicates import PredicateFailed
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.transactions.open_transactions import (
    PRODUCER,
    ended,
    is_open,
    markers_in,
    open_transaction,
    request_of,
)
from tests.server.waiting import wait_until

API = "WRITE_TXN_MARKERS"


@pytest.fixture(autouse=True)
def _nothing_left(broker: Broker) -> Iterator[None]:
    broker.requests.clear()
    yield
    broker.faults.clear()


@pytest.fixture
def partition(broker: Broker) -> Partition:
    """One that a transaction is open in."""
    found = broker.server.replicas.require(broker.create_topic(unique("direct")), 0)
    broker.call(partial(open_transaction, found))
    return found


def end(broker: Broker, partition: Partition) -> None:
    """Make the transaction's end known, to the last partition."""
    broker.run(broker.server.transaction_parts.markers.write(ended(partition.key)))


def written(broker: Broker, partition: Partition) -> int:
    assert not broker.call(partial(is_open, partition))
    return len(broker.call(partial(markers_in, partition)))


def test_it_is_seen_like_any_request(broker: Broker, partition: Partition) -> None:
    end(broker, partition)
    assert written(broker, partition) == 1
    (seen,) = broker.requests.of(API)
    assert (seen.api, seen.version) == (ApiKey.WRITE_TXN_MARKERS, 2)
    assert seen.client_id == "broker-0-txn-marker-sender"
    assert seen.request == request_of(ended(partition.key).marker([partition.key]))
    (result,) = seen.response.markers  # type: ignore[union-attr]
    assert result.producer_id == PRODUCER
    assert result.topics[0].partitions[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("action", ["drop", "close"])
def test_one_that_is_lost_is_not_carried_out_and_comes_again(
    broker: Broker, partition: Partition, action: str
) -> None:
    fault = broker.faults.add(action, api=API, topic=partition.topic, times=3)  # type: ignore[arg-type]
    end(broker, partition)
    assert (fault.seen, fault.hits) == (4, 3)
    assert written(broker, partition) == 1
    assert len(broker.requests.of(API)) == 1


@pytest.mark.parametrize("action", ["close_after", "truncate"])
def test_one_whose_answer_is_lost_is_carried_out_and_comes_again(
    broker: Broker, partition: Partition, action: str
) -> None:
    broker.faults.add(action, api=API)  # type: ignore[arg-type]
    end(broker, partition)
    assert written(broker, partition) == 2
    assert len(broker.requests.of(API)) == 2


def test_one_that_is_refused_is_not_carried_out(broker: Broker, partition: Partition) -> None:
    broker.faults.add("error", api=API, error="NOT_LEADER_OR_FOLLOWER", times=2)
    end(broker, partition)
    assert written(broker, partition) == 1
    codes = [
        seen.response.markers[0].topics[0].partitions[0].error_code  # type: ignore[union-attr]
        for seen in broker.requests.of(API)
    ]
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2 + [ErrorCode.NONE]


def test_one_that_is_delayed_comes_by_the_brokers_clock(
    broker: Broker, partition: Partition
) -> None:
    fault = broker.faults.add("delay", api=API, delay_ms=3_600_000)
    done: Future[None] = Future()

    async def write() -> None:
        await broker.server.transaction_parts.markers.write(ended(partition.key))
        done.set_result(None)

    broker.call(lambda: asyncio.get_running_loop().create_task(write()))
    wait_until(lambda: fault.hits == 1)
    assert broker.call(partial(is_open, partition)) and not done.done()
    broker.clock.advance("1 hour")
    done.result(10)
    assert written(broker, partition) == 1


def test_a_predicate_that_raises_disturbs_nothing(broker: Broker, partition: Partition) -> None:
    broker.faults.add("drop", api=API, predicate=lambda request: 1 // 0 == 1)
    end(broker, partition)
    assert written(broker, partition) == 1
    with pytest.raises(PredicateFailed, match=r"ZeroDivisionError.* of a WriteTxnMarkersRequest"):
        broker.faults.check()


def test_other_brokers_requests_meet_the_same_faults(
    broker: Broker, client: RawClient, partition: Partition
) -> None:
    broker.faults.add("error", api=API, error="KAFKA_STORAGE_ERROR")
    asked = request_of(ended(partition.key).marker([partition.key]))
    codes = [client.call(asked, 1).markers[0].topics[0].partitions[0].error_code for _ in range(2)]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE]
    assert len(broker.requests.of(API)) == 2
