"""Transactional ids as golden answers show them, put into the coordinator as they were."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.transactions.states import STATE_NAMES, TransactionState
from barnabas.server.transactions.transaction import Transaction, TransactionEntry
from barnabas.wire.api import ApiKey
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.server.waiting import wait_until

if TYPE_CHECKING:
    from tests.server.golden_world import World

TRANSACTION = 1


def _put(world: "World", transaction: Transaction) -> None:
    """Have this broker coordinate a transactional id that is in this state."""
    name = transaction.transactional_id
    request = FindCoordinatorRequest(key=name, key_type=TRANSACTION)
    wait_until(lambda: not world.client.call(request, 2).error_code)
    transactions = world.broker.server.transactions

    def put() -> None:
        transactions.shards.of(name).entries[name] = TransactionEntry(transaction)

    world.broker.call(put)


def _of(
    name: str,
    producer_id: int,
    epoch: int,
    state: TransactionState = TransactionState.EMPTY,
    partitions: Iterable[tuple[str, int]] = (),
    **values: Any,
) -> Transaction:
    made = Transaction(name, producer_id, 60_000, 1, producer_epoch=epoch, state=state)
    return made._replace(partitions=frozenset(partitions), **values)


def _add_partitions(world: "World", request: Any, answer: Any) -> None:
    """What is only verified has been added before."""
    old = request.v3_and_below_transactional_id
    if old:
        producer = (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        _put(world, _of(old, *producer))
    for topic in request.v3_and_below_topics:
        world.topic(topic.name)
    for wanted in request.transactions:
        partitions = [(topic.name, index) for topic in wanted.topics for index in topic.partitions]
        for topic, _ in partitions:
            world.topic(topic)
        _put(
            world,
            _of(
                wanted.transactional_id, wanted.producer_id, wanted.producer_epoch,
                TransactionState.ONGOING, partitions if wanted.verify_only else (),
            ),
        )  # fmt: skip


def _add_offsets(world: "World", request: Any, answer: Any) -> None:
    producer = (request.producer_id, request.producer_epoch)
    _put(world, _of(request.transactional_id, *producer))


def _commit_offsets(world: "World", request: Any, answer: Any) -> None:
    """The group's partition has been added before, or is added by this."""
    for topic in request.topics:
        world.topic(topic.name)
    index = world.broker.server.groups.partition_of(request.group_id)
    producer = (request.producer_id, request.producer_epoch)
    offsets = [(OFFSETS_TOPIC, index)]
    _put(world, _of(request.transactional_id, *producer, TransactionState.ONGOING, offsets))


def _end(world: "World", request: Any, answer: Any) -> None:
    producer = (request.producer_id, request.producer_epoch)
    _put(world, _of(request.transactional_id, *producer, TransactionState.ONGOING))


def _describe(world: "World", request: Any, answer: Any) -> None:
    for known in answer.transaction_states:
        state = TransactionState(STATE_NAMES.index(known.transaction_state))
        start_ms = known.transaction_start_time_ms
        producer = (known.producer_id, known.producer_epoch)
        _put(world, _of(known.transactional_id, *producer, state, start_ms=start_ms))


def _list(world: "World", request: Any, answer: Any) -> None:
    for known in answer.transaction_states:
        state = TransactionState(STATE_NAMES.index(known.transaction_state))
        _put(world, _of(known.transactional_id, known.producer_id, 0, state))


def _write_markers(world: "World", request: Any, answer: Any) -> None:
    for marker in request.markers:
        for topic in marker.topics:
            world.topic(topic.name)


STEPS: dict[ApiKey, Callable[["World", Any, Any], None]] = {
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: _add_offsets,
    ApiKey.TXN_OFFSET_COMMIT: _commit_offsets,
    ApiKey.END_TXN: _end,
    ApiKey.WRITE_TXN_MARKERS: _write_markers,
    ApiKey.DESCRIBE_TRANSACTIONS: _describe,
    ApiKey.LIST_TRANSACTIONS: _list,
}
