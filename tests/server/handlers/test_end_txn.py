"""EndTxn: both protocols, ends that come again, and who may not."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import V1, V2, Id, Transactional
from tests.server.waiting import wait_until

BOTH = pytest.mark.parametrize("protocol", [V1, V2])


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, with two partitions."""
    name = "t" + str(abs(hash(request.node.name)))
    broker.create_topic(name, 2)
    return name


def opened(client: RawClient, name: str, topic: str, protocol: int = V2) -> Transactional:
    """A producer with an open transaction."""
    producer = Transactional(client, name, protocol).begin()
    assert producer.add((topic, 0), (topic, 1)) == [0, 0]
    return producer


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_every_version_ends_a_transaction(
    client: RawClient, topic: str, version: int, commit: bool
) -> None:
    producer = opened(client, topic, topic)
    before = producer.id
    answer = producer.end_answer(commit=commit, version=version) if version else None
    if answer is None:
        producer.protocol = V1
        answer = producer.end_answer(commit=commit)
    assert answer.error_code == 0
    following = (before.producer_id, 1) if version >= 5 else (-1, -1)
    assert (answer.producer_id, answer.producer_epoch) == following
    wait_until(lambda: producer.state == ("CompleteCommit" if commit else "CompleteAbort"))


@BOTH
def test_transactions_one_after_the_other(client: RawClient, topic: str, protocol: int) -> None:
    producer = Transactional(client, topic, protocol).begin()
    for number in range(5):
        assert producer.add((topic, number % 2)) == [0]
        assert producer.end(commit=number % 2 == 0) == 0
    assert producer.id.epoch == (5 if protocol == V2 else 0)


def test_an_end_of_v2_that_comes_again_is_answered_like_the_first(
    client: RawClient, topic: str
) -> None:
    producer = opened(client, topic, topic)
    before = producer.id
    assert producer.end() == 0
    after = producer.id
    wait_until(lambda: producer.state == "CompleteCommit")
    assert producer.end(by=before) == 0
    assert producer.id == after
    assert producer.end(by=before, commit=False) == ErrorCode.INVALID_TXN_STATE


def test_an_end_of_v1_that_comes_again_is_answered_when_it_is_done(
    client: RawClient, topic: str
) -> None:
    producer = opened(client, topic, topic, V1)
    assert producer.end() == 0
    codes = set()

    def done() -> bool:
        codes.add(producer.end())
        return ErrorCode.NONE in codes

    wait_until(done)
    assert codes <= {ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS}
    assert producer.end(commit=False) == ErrorCode.INVALID_TXN_STATE


def test_an_end_of_nothing(client: RawClient, topic: str) -> None:
    old = Transactional(client, f"{topic}-1", V1).begin()
    assert old.end() == old.end(commit=False) == ErrorCode.INVALID_TXN_STATE
    new = Transactional(client, f"{topic}-2", V2).begin()
    assert new.end() == ErrorCode.INVALID_TXN_STATE
    assert new.end(commit=False) == 0
    assert new.id.epoch == 1


@BOTH
def test_who_may_not(client: RawClient, topic: str, protocol: int) -> None:
    producer = opened(client, f"{topic}-{protocol}", topic, protocol)
    producer_id, epoch = producer.id
    assert producer.end(by=Id(producer_id, epoch + 1)) == ErrorCode.PRODUCER_FENCED
    assert producer.end(by=Id(producer_id + 1, epoch)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    unknown = Transactional(client, f"{topic}-unknown", protocol)
    unknown.id = producer.id
    assert unknown.end() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    nameless = Transactional(client, "", protocol)
    assert nameless.end() == ErrorCode.INVALID_REQUEST
    assert producer.end() == 0


def test_an_old_client_is_told_of_its_fencing_in_its_own_words(
    client: RawClient, topic: str
) -> None:
    producer = opened(client, topic, topic, V1)
    fenced = Id(producer.id.producer_id, 7)
    answer = producer.end_answer(by=fenced, version=1)
    assert answer.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.end_answer(by=fenced, version=2).error_code == ErrorCode.PRODUCER_FENCED


def test_an_open_transaction_times_out() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("t", 2)
        producer = opened(client, "slow", "t")
        broker.clock.advance("71 s")
        wait_until(lambda: producer.state == "CompleteAbort")
        assert producer.add(("t", 0)) == [ErrorCode.PRODUCER_FENCED]
        assert producer.begin().id.epoch == 2


def test_an_end_that_was_prepared_before_a_crash_is_carried_out_after_it() -> None:
    with Broker() as broker:
        broker.create_topic("t", 2)
        with RawClient(broker.port) as client:
            producer = opened(client, "crashes", "t")
            broker.faults.add("drop", api="WRITE_TXN_MARKERS")
            assert producer.end() == 0
            assert producer.state == "PrepareCommit"
        broker.kill()
        broker.start()
        with RawClient(broker.port) as client:
            again = Transactional(client, "crashes")
            wait_until(lambda: again.state == "CompleteCommit")
            again.id = producer.id
            assert again.add(("t", 0)) == [0]
