"""What ends by itself: open transactions by their time-out, ids that nobody uses."""

import pytest

from barnabas.server.core import slices
from barnabas.server.transactions.transaction import TRANSACTIONS_V1, TRANSACTIONS_V2
from barnabas.wire.error_codes import ErrorCode

from .coordinator_world import A, Producer, World
from .test_coordinator import refuse_writes, states

NONE = ErrorCode.NONE
BOTH = pytest.mark.parametrize("version", [TRANSACTIONS_V1, TRANSACTIONS_V2])


def opened(
    coordinated: World, name: str = "t", timeout_ms: int = 60_000, version: int = 2
) -> Producer:
    """A producer with an open transaction."""
    producer = Producer(coordinated, name, version)
    assert producer.init(timeout_ms=timeout_ms) is NONE
    assert producer.add(A) is NONE
    return producer


@BOTH
def test_a_transaction_that_is_open_too_long_is_aborted(coordinated: World, version: int) -> None:
    coordinated.version = version
    producer = opened(coordinated, version=version)
    coordinated.advance("60 s")
    assert producer.state.state.text == "Ongoing"
    coordinated.advance("10 s")
    assert producer.state.state.text == "CompleteAbort"
    (ended,) = coordinated.markers.written
    assert (ended.is_commit, ended.marker_epoch) == (False, 1)
    assert producer.add() is ErrorCode.PRODUCER_FENCED
    assert producer.end() is (
        ErrorCode.PRODUCER_FENCED if version == TRANSACTIONS_V1 else ErrorCode.INVALID_TXN_STATE
    )
    assert producer.init() is NONE
    assert producer.producer == (1001, 2)
    assert coordinated.transactions.counts.timed_out == 1


def test_a_producer_of_v2_that_aborts_what_timed_out_goes_on(coordinated: World) -> None:
    producer = opened(coordinated)
    coordinated.advance("70 s")
    assert producer.end(commit=False) is NONE
    assert producer.producer == (1001, 1)
    assert producer.add() is producer.end() is NONE


def test_time_runs_from_the_first_partition(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    coordinated.advance("1 hour")
    producer.add(A)
    coordinated.advance("50 s")
    producer.add(("orders", 2))  # does not put it off
    coordinated.advance("30 s")
    assert producer.state.state.text == "CompleteAbort"


def test_an_ended_transaction_has_no_time_out(coordinated: World) -> None:
    producer = opened(coordinated)
    producer.end()
    coordinated.advance("1 hour")
    assert producer.state.producer == (1001, 1)
    assert [ended.is_commit for ended in coordinated.markers.written] == [True]


def test_a_prepared_end_has_no_time_out(coordinated: World) -> None:
    producer = opened(coordinated)
    coordinated.markers.holds = True
    producer.end()
    coordinated.advance("1 hour")
    assert producer.state.state.text == "PrepareCommit"
    coordinated.markers.release()
    coordinated.settle()
    assert [ended.is_commit for ended in coordinated.markers.written] == [True]


@pytest.mark.parametrize("jump", ["-1 day", "1 day"])
def test_no_change_of_the_date_moves_a_time_out(coordinated: World, jump: str) -> None:
    producer = opened(coordinated)
    coordinated.advance("20 s")
    coordinated.clock.jump(jump)
    coordinated.advance("30 s")
    assert producer.state.state.text == "Ongoing"
    coordinated.advance("30 s")
    assert producer.state.state.text == "CompleteAbort"


def test_the_time_that_is_left_goes_on_where_it_is_loaded(coordinated: World) -> None:
    producer = opened(coordinated)
    coordinated.advance("50 s")
    coordinated.reload()
    coordinated.advance("9 s")
    assert producer.state.state.text == "Ongoing"
    coordinated.advance("12 s")
    assert producer.state.state.text == "CompleteAbort"


def test_a_date_set_back_before_loading_gives_no_more_than_the_time_out(coordinated: World) -> None:
    producer = opened(coordinated)
    coordinated.clock.jump("-1 day")
    coordinated.reload()
    coordinated.advance("75 s")
    assert producer.state.state.text == "CompleteAbort"


def test_an_abort_that_cannot_be_written_is_tried_again(coordinated: World) -> None:
    producer = opened(coordinated)
    refuse_writes(coordinated, True)
    coordinated.advance("2 minutes")
    assert producer.state.state.text == "Ongoing"
    refuse_writes(coordinated, False)
    coordinated.advance("10 s")
    assert producer.state.state.text == "CompleteAbort"


def test_thousands_that_time_out_together_hold_nobody_up(
    coordinated: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_MS", -1.0)  # each is a slice of its own
    for number in range(5):
        opened(coordinated, f"t{number}")
    open_then: list[int] = []

    def advance() -> None:
        coordinated.clock.advance("70 s")
        open_then.append(len(next(iter(coordinated.transactions.shards)).ongoing))

    coordinated.call(advance)
    assert open_then == [4]
    states_then = [each.state.text for each in coordinated.transactions.all_transactions()]
    assert states_then == ["CompleteAbort"] * 5
    assert coordinated.transactions.counts.timed_out == 5


# Transactional ids.


def test_an_id_that_nobody_uses_is_forgotten(coordinated: World) -> None:
    idle, ended = Producer(coordinated, "idle"), opened(coordinated, "ended")
    idle.init()
    ended.end()
    coordinated.advance("6 days")
    used = Producer(coordinated, "used")
    used.init()
    coordinated.advance("1 day")
    coordinated.advance("1 hour")
    assert [each.transactional_id for each in coordinated.transactions.all_transactions()] == [
        "used"
    ]
    assert coordinated.transactions.counts.expired_ids == 2
    assert states(coordinated)[-2:] == ["tombstone", "tombstone"]
    coordinated.reload()
    assert [each.transactional_id for each in coordinated.transactions.all_transactions()] == [
        "used"
    ]
    assert idle.add() is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert idle.init() is NONE
    assert idle.producer.producer_epoch == 0


@pytest.mark.parametrize("jump", ["-1 day", "1 day"])
def test_no_change_of_the_date_makes_an_id_expire_early(coordinated: World, jump: str) -> None:
    Producer(coordinated).init()
    for day in range(6):
        coordinated.advance("1 day")
        if day == 3:
            coordinated.clock.jump(jump)
    coordinated.advance("22 hours")
    assert len(list(coordinated.transactions.all_transactions())) == 1
    for _ in range(4):
        coordinated.advance("1 day")
    coordinated.advance("3 hours")
    assert not list(coordinated.transactions.all_transactions())


def test_ids_with_a_transaction_do_not_expire(coordinated: World) -> None:
    coordinated.config.transactional_id_expiration_ms = 1_000
    opened(coordinated, "open", timeout_ms=900_000)
    prepared = opened(coordinated, "prepared")
    coordinated.markers.holds = True
    prepared.end()
    coordinated.advance("2 hours")
    names = [each.transactional_id for each in coordinated.transactions.all_transactions()]
    assert "prepared" in names


def test_tombstones_that_cannot_be_written_are_written_later(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    refuse_writes(coordinated, True)
    coordinated.advance("8 days")
    assert producer.state.state.text == "Empty"
    refuse_writes(coordinated, False)
    coordinated.advance("1 hour")
    assert list(coordinated.transactions.all_transactions()) == []


def test_many_ids_expire_in_batches(coordinated: World) -> None:
    for number in range(1_100):
        Producer(coordinated, f"t{number}").init()
    coordinated.advance("8 days")
    for _ in range(20):
        coordinated.advance("1 s")
    assert list(coordinated.transactions.all_transactions()) == []
    read = coordinated.records()
    sizes = {header.record_count for header, record in read if record.value is None}
    assert sizes == {100, 500}
