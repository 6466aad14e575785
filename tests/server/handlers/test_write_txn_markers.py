"""WriteTxnMarkers: markers are written, and each partition says what became of its own."""

from collections.abc import Iterator
from functools import partial

import pytest

from barnabas.server.network.principal import Principal
from barnabas.server.replication.partition import Partition
from barnabas.server.requests.access import AllowEverything, Operation, Resource
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import fetch, fetch_request, fetched
from tests.server.transactions.open_transactions import (
    PRODUCER,
    codes_in,
    is_open,
    marker,
    markers_in,
    open_transaction,
    request_of,
)
from tests.server.waiting import wait_until_watched

OTHER = 9


def partition_of(broker: Broker, topic: str, index: int = 0) -> Partition:
    return broker.server.replicas.require(topic, index)


def with_open(broker: Broker, *indexes: int, producer_id: int = PRODUCER, epoch: int = 0) -> str:
    """A topic of three partitions with a transaction open in some of them."""
    topic = broker.create_topic(unique("ends"), 3)
    for index in indexes:
        where = partition_of(broker, topic, index)
        broker.call(partial(open_transaction, where, producer_id, epoch))
    return topic


def still_open(broker: Broker, topic: str) -> list[int]:
    parts = [partition_of(broker, topic, index) for index in range(3)]
    return [each.index for each in parts if broker.call(partial(is_open, each))]


def write(client: RawClient, *markers: WritableTxnMarker, version: int = 1) -> dict[int, list[str]]:
    """The errors of the partitions, by producer, in the order of their numbers."""
    codes = codes_in(client.call(request_of(*markers), version))
    found: dict[int, list[str]] = {}
    for (producer_id, _, _), code in sorted(codes.items()):
        found.setdefault(producer_id, []).append(ErrorCode(code).name)
    return found


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_ends_the_transaction_in_each_partition_it_names(
    broker: Broker, client: RawClient, version: int, is_commit: bool
) -> None:
    topic = with_open(broker, 0, 1, 2)
    wanted = marker([(topic, 0), (topic, 2)], is_commit=is_commit)
    assert write(client, wanted, version=version) == {PRODUCER: ["NONE", "NONE"]}
    assert still_open(broker, topic) == [1]
    assert broker.call(partial(markers_in, partition_of(broker, topic))) == [
        (PRODUCER, 0, is_commit)
    ]


def test_whoever_reads_committed_data_waits_for_the_marker(
    broker: Broker, client: RawClient
) -> None:
    topic = with_open(broker, 0)
    seen = fetched(fetch(client, (topic, 0, 0, 1 << 20), isolation_level=1))[topic, 0]
    assert (seen.last_stable_offset, seen.high_watermark, len(seen.records or b"")) == (0, 1, 0)
    write(client, marker([(topic, 0)]))
    seen = fetched(fetch(client, (topic, 0, 0, 1 << 20), isolation_level=1))[topic, 0]
    assert (seen.last_stable_offset, seen.high_watermark) == (2, 2)
    assert len(seen.records or b"") > 0


def test_who_waits_for_committed_data_is_woken(broker: Broker, client: RawClient) -> None:
    topic = with_open(broker, 0)
    with RawClient(broker.port) as reader:
        request = fetch_request(topic, 0, max_wait_ms=60_000)
        request.isolation_level = 1
        reader.send(request, 11)
        wait_until_watched(broker, topic)
        write(client, marker([(topic, 0)]))
        (found,) = reader.receive().responses[0].partitions
    assert (found.last_stable_offset, found.aborted_transactions) == (2, [])
    assert len(found.records) > 0


def test_several_transactions_end_at_once(broker: Broker, client: RawClient) -> None:
    topic = with_open(broker, 0, 1)
    broker.call(partial(open_transaction, partition_of(broker, topic), OTHER))
    answered = write(
        client, marker([(topic, 0)], PRODUCER), marker([(topic, 0)], OTHER, is_commit=False),
        marker([(topic, 1)], PRODUCER),
    )  # fmt: skip
    assert answered == {PRODUCER: ["NONE", "NONE"], OTHER: ["NONE"]}
    assert still_open(broker, topic) == []


def test_a_marker_for_nobody_is_written_all_the_same(broker: Broker, client: RawClient) -> None:
    """A retry cannot know whether its first try was written."""
    topic = with_open(broker, 0)
    for _ in range(2):
        assert write(client, marker([(topic, 0)])) == {PRODUCER: ["NONE"]}
    assert len(broker.call(partial(markers_in, partition_of(broker, topic)))) == 2


def test_what_is_wrong_with_one_partition_keeps_no_other_from_its_marker(
    broker: Broker, client: RawClient
) -> None:
    topic = with_open(broker, 0, 1)
    answered = write(client, marker([(topic, 0), (topic, 1), (topic, 9), ("zz-nowhere", 0)]))
    assert answered == {
        PRODUCER: ["NONE", "NONE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"]
    }


def test_a_marker_of_an_older_epoch_is_refused(broker: Broker, client: RawClient) -> None:
    topic = with_open(broker, 0, epoch=5)
    assert write(client, marker([(topic, 0)], epoch=4)) == {PRODUCER: ["INVALID_PRODUCER_EPOCH"]}
    assert still_open(broker, topic) == [0]
    assert write(client, marker([(topic, 0)], epoch=6)) == {PRODUCER: ["NONE"]}


def test_with_version_2_the_marker_has_the_next_epoch(broker: Broker, client: RawClient) -> None:
    topic = with_open(broker, 0)
    same, following = (marker([(topic, 0)], epoch=epoch, version=2) for epoch in (0, 1))
    assert write(client, same, version=2) == {PRODUCER: ["INVALID_PRODUCER_EPOCH"]}
    assert write(client, following, version=2) == {PRODUCER: ["NONE"]}
    assert write(client, following, version=2) == {PRODUCER: ["NONE"]}, "a retry"


def test_an_older_coordinator_is_fenced(broker: Broker, client: RawClient) -> None:
    topic = with_open(broker, 0)
    assert write(client, marker([(topic, 0)], coordinator_epoch=3)) == {PRODUCER: ["NONE"]}
    broker.call(partial(open_transaction, partition_of(broker, topic), PRODUCER, 1))
    late = marker([(topic, 0)], epoch=1, coordinator_epoch=2)
    assert write(client, late) == {PRODUCER: ["TRANSACTION_COORDINATOR_FENCED"]}
    assert still_open(broker, topic) == [0]


def test_a_request_without_markers_is_answered(client: RawClient) -> None:
    assert write(client) == {}


def test_many_partitions_are_done_in_turns(broker: Broker, client: RawClient) -> None:
    topic = broker.create_topic(unique("wide"), 60)
    before = broker.server.turns.interruptions
    answered = write(client, *(marker([(topic, n) for n in range(60)], p) for p in range(20)))
    assert {code for codes in answered.values() for code in codes} == {"NONE"}
    assert broker.server.turns.interruptions > before


class Only:
    """Lets one operation pass."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def may(self, principal: Principal, operation: Operation, resource: Resource) -> bool:
        return operation is self._operation


@pytest.fixture
def _everybody_again(broker: Broker) -> Iterator[None]:
    yield
    broker.server.authorizer = AllowEverything()


@pytest.mark.usefixtures("_everybody_again")
@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (Operation.ALTER, "NONE"),
        (Operation.CLUSTER_ACTION, "NONE"),
        (Operation.DESCRIBE, "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_who_may(broker: Broker, client: RawClient, operation: Operation, code: str) -> None:
    topic = with_open(broker, 0)
    broker.server.authorizer = Only(operation)
    assert write(client, marker([(topic, 0)])) == {PRODUCER: [code]}
