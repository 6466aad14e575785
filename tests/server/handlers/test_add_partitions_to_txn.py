"""AddPartitionsToTxn: clients' versions and brokers', adding and verifying."""

import pytest

from barnabas.server.network.principal import Principal
from barnabas.server.requests.access import Operation, Resource
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import (
    V1,
    Id,
    Transactional,
    add_request,
    by_topic,
    of_broker,
)

Codes = dict[tuple[str, int], int]


@pytest.fixture(autouse=True, scope="module")
def topics(broker: Broker) -> None:
    """Topics that the tests add."""
    broker.create_topic("a", 3)
    broker.create_topic("b", 1)


def ask(client: RawClient, *transactions: object, version: int = 5) -> dict[str, Codes]:
    """What a broker is answered, by transactional id and partition."""
    answer = client.call(AddPartitionsToTxnRequest(transactions=list(transactions)), version)
    assert answer.error_code == 0
    return {
        result.transactional_id: {
            (topic.name, partition.partition_index): partition.partition_error_code
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }
        for result in answer.results_by_transaction
    }


@pytest.mark.parametrize("version", range(4))
def test_a_client_adds_partitions(client: RawClient, version: int) -> None:
    producer = Transactional(client, f"client-{version}", V1).begin()
    assert producer.add(("a", 0), ("a", 2), ("b", 0), version=version) == [0, 0, 0]
    described = producer.described
    assert described.transaction_state == "Ongoing"
    assert [(each.topic, each.partitions) for each in described.topics] == [
        ("a", [0, 2]), ("b", [0]),
    ]  # fmt: skip


def test_partitions_are_added_once(client: RawClient) -> None:
    producer = Transactional(client, "once", V1).begin()
    assert producer.add(("a", 0)) == producer.add(("a", 0)) == [0]
    assert producer.add(("a", 1), ("a", 0)) == [0, 0]
    assert [(each.topic, each.partitions) for each in producer.described.topics] == [("a", [0, 1])]


def test_one_partition_that_is_not_there_keeps_the_others_out(client: RawClient) -> None:
    producer = Transactional(client, "missing", V1).begin()
    unknown, others = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    assert producer.add(("a", 0), ("a", 9), ("nope", 0)) == [others, unknown, unknown]
    assert producer.state == "Empty"


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, ErrorCode.PRODUCER_FENCED),
        (3, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_who_may_not(client: RawClient, version: int, code: ErrorCode) -> None:
    producer = Transactional(client, f"not-{version}", V1).begin()
    producer_id, epoch = producer.id
    for by, expected in (
        (Id(producer_id, epoch + 1), code),
        (Id(producer_id + 1, epoch), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ):
        producer.id = by
        assert producer.add(("a", 0), ("b", 0), version=version) == [expected] * 2
    unknown = Transactional(client, "unknown", V1)
    assert unknown.add(("a", 0), version=version) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    nameless = Transactional(client, "", V1)
    assert nameless.add(("a", 0), version=version) == [ErrorCode.INVALID_REQUEST]


def test_nothing_can_be_added_while_a_transaction_ends() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("a")
        producer = Transactional(client, "ends", V1).begin()
        producer.add(("a", 0))
        broker.faults.add("drop", api="WRITE_TXN_MARKERS", times=1)
        assert producer.end() == 0
        answer = client.call(add_request("ends", producer.id, [("a", 0)]), 3)
        (partition,) = answer.results_by_topic_v3_and_below[0].results_by_partition
        assert partition.partition_error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        broker.faults.clear()
        assert producer.add(("a", 0)) == [0]


@pytest.mark.parametrize("version", [4, 5])
def test_a_broker_adds_to_several_transactions(client: RawClient, version: int) -> None:
    first, second = (Transactional(client, f"{n}-{version}").begin() for n in ("one", "two"))
    answered = ask(
        client,
        of_broker(first.name, first.id, [("a", 0), ("b", 0)]),
        of_broker(second.name, second.id, [("a", 1)]),
        of_broker("nobody", first.id, [("a", 1)]),
        version=version,
    )
    assert answered == {
        first.name: {("a", 0): 0, ("b", 0): 0},
        second.name: {("a", 1): 0},
        "nobody": {("a", 1): ErrorCode.INVALID_PRODUCER_ID_MAPPING},
    }
    assert (first.state, second.state) == ("Ongoing", "Ongoing")


@pytest.mark.parametrize("version", [4, 5])
def test_a_broker_verifies(client: RawClient, version: int) -> None:
    producer = Transactional(client, f"verified-{version}").begin()
    wanted = of_broker(producer.name, producer.id, [("a", 0), ("a", 1)], verify_only=True)
    abortable = ErrorCode.TRANSACTION_ABORTABLE
    assert ask(client, wanted, version=version) == {
        producer.name: {("a", 0): abortable, ("a", 1): abortable}
    }
    producer.add(("a", 0))
    assert ask(client, wanted, version=version) == {
        producer.name: {("a", 0): 0, ("a", 1): abortable}
    }
    assert [each.partitions for each in producer.described.topics] == [[0]], "nothing was added"
    fenced = of_broker(producer.name, Id(producer.id.producer_id, 9), [("a", 0)], verify_only=True)
    assert ask(client, fenced, version=version) == {
        producer.name: {("a", 0): ErrorCode.PRODUCER_FENCED}
    }


def test_nothing_at_all(client: RawClient) -> None:
    assert ask(client) == {}
    producer = Transactional(client, "nothing", V1).begin()
    request = add_request("nothing", producer.id, [])
    assert client.call(request, 3).results_by_topic_v3_and_below == []
    assert by_topic([]) == []


class _Nobody:
    """Lets nothing pass."""

    def may(self, principal: Principal, operation: Operation, resource: Resource) -> bool:
        return False


def test_only_brokers_may_ask_as_brokers_do() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("a")
        producer = Transactional(client, "whoever").begin()
        broker.server.authorizer = _Nobody()
        wanted = of_broker(producer.name, producer.id, [("a", 0)])
        answer = client.call(AddPartitionsToTxnRequest(transactions=[wanted]), 5)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert producer.state == "Empty"
