"""InitProducerId: ids nobody has had, over brokers and restarts; epochs of transactional ids."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import Transactional
from tests.server.waiting import wait_until


def init(
    client: RawClient,
    transactional_id: str | None = None,
    *,
    timeout_ms: int = 60_000,
    producer_id: int = -1,
    epoch: int = -1,
    version: int = 4,
) -> tuple[int, int, int]:
    """(error code, producer id, epoch)."""
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    answer: InitProducerIdResponse = client.call(request, version)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_every_version_gives_a_new_id(client: RawClient, version: int) -> None:
    first, second = init(client, version=version), init(client, version=version)
    assert first[0] == second[0] == first[2] == second[2] == 0
    assert 0 <= first[1] != second[1]


def test_the_timeout_of_a_producer_without_transactions_is_not_looked_at(
    client: RawClient,
) -> None:
    assert init(client, timeout_ms=0)[0] == 0
    assert init(client, timeout_ms=2**31 - 1)[0] == 0


def test_an_id_of_its_own_is_replaced(client: RawClient) -> None:
    code, producer_id, epoch = init(client, producer_id=2**40, epoch=32767)
    assert (code, epoch) == (0, 0)
    assert producer_id != 2**40


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
def test_half_a_pair(client: RawClient, producer_id: int, epoch: int) -> None:
    answer = init(client, producer_id=producer_id, epoch=epoch)
    assert answer == (ErrorCode.INVALID_REQUEST, -1, -1)


def test_ids_go_on_past_a_block(client: RawClient) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    for _ in range(2500):
        client.send(request, 1)
    ids = [client.receive().producer_id for _ in range(2500)]
    assert len(set(ids)) == 2500


def test_no_id_comes_again_after_a_restart() -> None:
    with Broker() as broker:
        with RawClient(broker.port) as client:
            before = [init(client)[1] for _ in range(10)]
        broker.kill()
        broker.start()
        with RawClient(broker.port) as client:
            after = [init(client)[1] for _ in range(10)]
    assert not set(before) & set(after)


@pytest.mark.parametrize(
    ("transactional_id", "timeout_ms", "code"),
    [
        ("", 60_000, ErrorCode.INVALID_REQUEST),
        ("x", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ],
)
def test_transactional_ids_that_are_refused(
    client: RawClient, transactional_id: str, timeout_ms: int, code: ErrorCode
) -> None:
    assert init(client, transactional_id, timeout_ms=timeout_ms) == (code, -1, -1)


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_id_and_raises_its_epoch(
    client: RawClient, version: int
) -> None:
    name = f"raised-{version}"
    code, producer_id, epoch = init(client, name, version=version)
    assert (code, epoch) == (0, 0)
    assert init(client, name, version=version) == (0, producer_id, 1)


def test_the_first_transactional_id_waits_for_its_topic() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        assert init(client, "first")[0] == 0
        assert list(broker.server.metadata.topics) == ["__transaction_state"]


def test_a_producer_goes_on_with_what_it_knows(client: RawClient) -> None:
    _, producer_id, epoch = init(client, "goes on")
    assert init(client, "goes on", producer_id=producer_id, epoch=epoch) == (0, producer_id, 1)
    again = init(client, "goes on", producer_id=producer_id, epoch=epoch)
    assert again == (0, producer_id, 1), "its answer was lost"


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (3, ErrorCode.INVALID_PRODUCER_EPOCH),
        (4, ErrorCode.PRODUCER_FENCED),
        (5, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_a_producer_whose_id_is_taken_is_fenced(
    client: RawClient, version: int, code: ErrorCode
) -> None:
    name = f"taken-{version}"
    _, producer_id, epoch = init(client, name)
    init(client, name)
    answer = init(client, name, producer_id=producer_id, epoch=epoch, version=version)
    assert answer == (code, -1, -1)
    answer = init(client, name, producer_id=producer_id + 1, epoch=1, version=version)
    assert answer == (code, -1, -1)


def test_an_open_transaction_is_aborted_first(broker: Broker, client: RawClient) -> None:
    broker.create_topic("aborted-first")
    first = Transactional(client, "open").begin()
    assert first.add(("aborted-first", 0)) == [0]
    assert init(client, "open") == (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
    wait_until(lambda: first.state == "CompleteAbort")
    assert init(client, "open") == (0, first.id.producer_id, 2)
    assert first.end() == ErrorCode.PRODUCER_FENCED


def test_epochs_go_on_after_a_restart() -> None:
    with Broker() as broker:
        with RawClient(broker.port) as client:
            before = [init(client, "kept") for _ in range(3)]
        broker.kill()
        broker.start()
        with RawClient(broker.port) as client:
            wait_until(lambda: init(client, "kept") == (0, before[0][1], 3))
