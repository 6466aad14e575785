"""ListTransactions: what is listed, and every filter."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import Transactional
from tests.server.waiting import wait_until


@pytest.fixture(scope="module")
def producers(broker: Broker) -> Iterator[dict[str, Transactional]]:
    """One that has begun nothing, one with an open transaction, one that has committed."""
    broker.create_topic("t", 1)
    with RawClient(broker.port) as client:
        made = {name: Transactional(client, name).begin() for name in ("idle", "open", "done")}
        made["open"].add(("t", 0))
        made["done"].add(("t", 0))
        made["done"].end()
        wait_until(lambda: made["done"].state == "CompleteCommit")
        yield made


def listed(client: RawClient, version: int = 1, **filters: Any) -> set[str]:
    answer = client.call(ListTransactionsRequest(**filters), version)
    assert answer.error_code == 0
    return {each.transactional_id for each in answer.transaction_states}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_all_of_them(client: RawClient, producers: dict[str, Transactional], version: int) -> None:
    answer = client.call(ListTransactionsRequest(), version)
    assert {
        (each.transactional_id, each.producer_id, each.transaction_state)
        for each in answer.transaction_states
    } == {
        ("idle", producers["idle"].id.producer_id, "Empty"),
        ("open", producers["open"].id.producer_id, "Ongoing"),
        ("done", producers["done"].id.producer_id, "CompleteCommit"),
    }
    assert answer.unknown_state_filters == []


@pytest.mark.usefixtures("producers")
def test_by_state(client: RawClient) -> None:
    assert listed(client, state_filters=["Ongoing"]) == {"open"}
    assert listed(client, state_filters=["Empty", "CompleteCommit"]) == {"idle", "done"}
    assert listed(client, state_filters=["PrepareAbort"]) == set()


@pytest.mark.usefixtures("producers")
def test_states_that_nobody_knows_are_told(client: RawClient) -> None:
    answer = client.call(ListTransactionsRequest(state_filters=["ongoing", "Empty", "What"]), 1)
    assert answer.unknown_state_filters == ["ongoing", "What"]
    assert [each.transactional_id for each in answer.transaction_states] == ["idle"]
    assert listed(client, state_filters=["What"]) == set()


def test_by_producer(client: RawClient, producers: dict[str, Transactional]) -> None:
    ids = [producers[name].id.producer_id for name in ("open", "done")]
    assert listed(client, producer_id_filters=ids) == {"open", "done"}
    assert listed(client, producer_id_filters=[2**60]) == set()
    assert listed(client, producer_id_filters=ids, state_filters=["Ongoing"]) == {"open"}


def test_by_duration(
    broker: Broker, client: RawClient, producers: dict[str, Transactional]
) -> None:
    broker.clock.advance("30 s")
    assert "open" in listed(client, duration_filter=29_999)
    assert "open" not in listed(client, duration_filter=3_600_000)
    assert listed(client, duration_filter=3_600_000) == {"idle"}, "as in Kafka: it began never"
    assert listed(client, duration_filter=-1) == set(producers)


@pytest.mark.usefixtures("producers")
def test_by_pattern(client: RawClient) -> None:
    assert listed(client, 2, transactional_id_pattern="(open|done)") == {"open", "done"}
    assert listed(client, 2, transactional_id_pattern=".*n.*") == {"open", "done"}
    assert listed(client, 2, transactional_id_pattern="ope") == set(), "the whole id matches"
    assert listed(client, 2, transactional_id_pattern="") == {"idle", "open", "done"}
    only = listed(client, 2, transactional_id_pattern="[a-z]+", state_filters=["Ongoing"])
    assert only == {"open"}


@pytest.mark.usefixtures("producers")
def test_a_pattern_that_is_none(client: RawClient) -> None:
    answer = client.call(ListTransactionsRequest(transactional_id_pattern="(a"), 2)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert answer.transaction_states == []
