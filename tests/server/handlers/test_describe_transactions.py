"""DescribeTransactions: state, producer and partitions; ids that cannot be described."""

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import Transactional, find_coordinator
from tests.server.waiting import wait_until


def test_a_transaction_from_its_beginning_to_its_end(broker: Broker, client: RawClient) -> None:
    broker.create_topic("t", 3)
    producer = Transactional(client, "described").begin()
    state = producer.described
    assert (state.error_code, state.transactional_id) == (0, "described")
    assert (state.producer_id, state.producer_epoch) == producer.id
    assert (state.transaction_state, state.transaction_timeout_ms) == ("Empty", 60_000)
    assert (state.transaction_start_time_ms, state.topics) == (-1, [])
    now_ms = broker.clock.now_ms()
    producer.add(("t", 2), ("t", 0))
    state = producer.described
    assert state.transaction_state == "Ongoing"
    assert now_ms <= state.transaction_start_time_ms <= broker.clock.now_ms()
    assert [(each.topic, each.partitions) for each in state.topics] == [("t", [0, 2])]
    assert producer.end() == 0
    wait_until(lambda: producer.state == "CompleteCommit")
    assert producer.described.topics == []
    assert producer.described.producer_epoch == 1


def test_ids_that_cannot_be_described(client: RawClient) -> None:
    find_coordinator(client, "any")
    request = DescribeTransactionsRequest(transactional_ids=["unknown", ""])
    unknown, nameless = client.call(request, 0).transaction_states
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert (unknown.transactional_id, unknown.transaction_state) == ("unknown", "")
    assert nameless.error_code == ErrorCode.INVALID_REQUEST


def test_without_the_topic_there_is_no_coordinator() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        request = DescribeTransactionsRequest(transactional_ids=["t"])
        (state,) = client.call(request, 0).transaction_states
        assert state.error_code == ErrorCode.NOT_COORDINATOR
