"""What is made of the records of a partition of __transaction_state, sound or not."""

from barnabas.server.transactions.records import encode_key, encode_value
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import Transaction
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.producers.entry import AppendOrigin
from tests.storage.logs import NOW_MS

from .coordinator_world import Producer, World


def append(world: World, key: bytes, value: bytes | None) -> None:
    """A record of somebody else's."""
    batch = build_batch([Record(0, NOW_MS, key, value)])
    world.partition().append(batch, -1, NOW_MS, origin=AppendOrigin.COORDINATOR)


def names(world: World) -> set[str]:
    return {each.transactional_id for each in world.transactions.all_transactions()}


def a_value(state: TransactionState = TransactionState.EMPTY) -> bytes:
    return encode_value(Transaction("x", 7, 60_000, NOW_MS, producer_epoch=3, state=state), 1)


def test_records_of_a_kind_that_is_not_known_are_left_alone(coordinated: World) -> None:
    Producer(coordinated, "known").init()
    append(coordinated, b"\x00\x09" + b"what", b"ever")
    append(coordinated, encode_key("known"), b"\x00\x09of a later version")
    coordinated.reload()
    assert names(coordinated) == {"known"}


def test_a_record_that_cannot_be_read_takes_its_id_along(coordinated: World) -> None:
    Producer(coordinated, "whole").init()
    Producer(coordinated, "torn").init()
    append(coordinated, encode_key("torn"), a_value()[:9])
    append(coordinated, b"\x00\x00\x00\x63short", a_value())
    coordinated.reload()
    assert names(coordinated) == {"whole"}


def test_states_that_are_never_written_are_not_believed(coordinated: World) -> None:
    append(coordinated, encode_key("dead"), a_value(TransactionState.DEAD))
    append(coordinated, encode_key("fenced"), a_value(TransactionState.PREPARE_EPOCH_FENCE))
    append(coordinated, encode_key("sound"), a_value())
    coordinated.reload()
    assert names(coordinated) == {"sound"}


def test_the_last_record_counts(coordinated: World) -> None:
    append(coordinated, encode_key("x"), a_value())
    append(coordinated, encode_key("x"), a_value(TransactionState.COMPLETE_ABORT))
    append(coordinated, encode_key("gone"), a_value())
    append(coordinated, encode_key("gone"), None)
    coordinated.reload()
    (only,) = coordinated.transactions.all_transactions()
    assert (only.transactional_id, only.state) == ("x", TransactionState.COMPLETE_ABORT)
    assert only.producer == (7, 3)
