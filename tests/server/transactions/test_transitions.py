"""Decisions about one transaction, table by table, as Kafka's coordinator takes them."""

from collections.abc import Callable

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.transactions import transitions
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import ProducerIdAndEpoch, Transaction
from barnabas.wire.error_codes import ErrorCode

State = TransactionState
NOW = 1_000
P, OTHER = 7, 8
LAST = 32_766
A, B = ("orders", 0), ("orders", 1)


def transaction(state: State = State.EMPTY, epoch: int = 5, **values: object) -> Transaction:
    open_in = frozenset({A}) if state.value in (1, 2, 3) else frozenset()
    made = Transaction(
        "t", P, 60_000, 1, producer_epoch=epoch, previous_producer_id=P, state=state,
        partitions=open_in, start_ms=-1 if state is State.EMPTY else 500,
    )  # fmt: skip
    return made._replace(**values)  # type-checked by the fields' names at run time


def by(epoch: int = 5, producer_id: int = P) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(producer_id, epoch)


def outcome(decide: Callable[[], Transaction]) -> str:
    """What a decision comes to, in one word."""
    try:
        return decide().state.text
    except ApiError as error:
        return error.code.name
    except transitions.AlreadyEnded:
        return "again"
    except transitions.ProducerIdNeeded:
        return "needs an id"


# InitProducerId.


def test_a_new_id_gets_epoch_0() -> None:
    made = transitions.created("t", P, 60_000, NOW)
    begun = transitions.initialized(made, None, 60_000, NOW)
    assert (begun.producer, begun.state) == ((P, 0), State.EMPTY)
    with pytest.raises(transitions.ProducerIdNeeded):
        transitions.created("t", -1, 60_000, NOW)


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_whoever_comes_raises_the_epoch(state: State) -> None:
    begun = transitions.initialized(transaction(state), None, 30_000, NOW)
    assert begun.producer == (P, 6)
    assert (begun.last_producer_epoch, begun.timeout_ms, begun.start_ms) == (-1, 30_000, -1)
    assert (begun.state, begun.partitions) == (State.EMPTY, frozenset())


def test_a_producer_that_goes_on_raises_its_own_epoch() -> None:
    begun = transitions.initialized(transaction(), by(5), 60_000, NOW)
    assert (begun.producer, begun.last_producer_epoch) == ((P, 6), 5)


def test_a_producer_that_did_not_hear_of_its_epoch_is_told_again_and_again() -> None:
    begun = transitions.initialized(transaction(), by(5), 60_000, NOW)
    for _ in range(3):
        begun = transitions.initialized(begun, by(5), 60_000, NOW)
        assert begun.producer == (P, 6)


def test_a_producer_with_an_old_epoch_is_fenced() -> None:
    after_another = transitions.initialized(transaction(), None, 60_000, NOW)
    for known in (by(5), by(4), by(7)):
        with pytest.raises(ApiError) as caught:
            transitions.initialized(after_another, known, 60_000, NOW)
        assert caught.value.code is ErrorCode.PRODUCER_FENCED


def test_a_producer_with_another_id_is_fenced() -> None:
    assert outcome(
        lambda: transitions.initialized(transaction(), by(5, OTHER), 60_000, NOW)
    ) == "PRODUCER_FENCED"  # fmt: skip


def test_epochs_run_out_and_a_new_id_follows() -> None:
    spent = transaction(epoch=LAST)
    assert outcome(lambda: transitions.initialized(spent, None, 1, NOW)) == "needs an id"
    begun = transitions.initialized(spent, None, 1, NOW, OTHER)
    assert (begun.producer, begun.previous_producer_id) == ((OTHER, 0), P)
    assert begun.last_producer_epoch == -1
    known = transitions.initialized(spent, by(LAST), 1, NOW, OTHER)
    assert (known.producer, known.last_producer_epoch) == ((OTHER, 0), LAST)
    for _ in range(3):  # its answer was lost
        known = transitions.initialized(known, by(LAST), 1, NOW)
        assert known.producer == (OTHER, 0)


def test_only_the_owner_of_a_spent_epoch_gets_the_new_id() -> None:
    spent = transaction(epoch=LAST)
    assert outcome(lambda: transitions.initialized(spent, by(3), 1, NOW)) == "PRODUCER_FENCED"


@pytest.mark.parametrize("state", [State.PREPARE_COMMIT, State.PREPARE_ABORT])
def test_a_prepared_end_is_waited_for(state: State) -> None:
    decided = outcome(lambda: transitions.initialized(transaction(state), None, 1, NOW))
    assert decided == "CONCURRENT_TRANSACTIONS"


# Fencing.


def test_fencing_raises_the_epoch_once_under_either_version() -> None:
    for version in (0, 1, 2):
        fenced = transitions.fenced(
            transaction(State.ONGOING), version, NOW, has_failed_before=False
        )
        assert (fenced.state, fenced.producer) == (State.PREPARE_ABORT, (P, 6))
        assert fenced.partitions == {A}
        assert fenced.last_producer_epoch == (5 if version == 2 else -1)
        assert fenced.client_version == (2 if version == 2 else 0)


def test_an_epoch_that_nobody_was_told_is_taken_by_the_next_fencing() -> None:
    raised = transaction(State.ONGOING, 6)
    assert transitions.fenced(raised, 0, NOW, has_failed_before=True).producer_epoch == 6
    assert transitions.fenced(raised, 2, NOW, has_failed_before=True).producer_epoch == 7


def test_fencing_the_last_epoch_of_a_client_leaves_room_for_nobody_else() -> None:
    for version in (0, 2):
        fenced = transitions.fenced(
            transaction(State.ONGOING, LAST), version, NOW, has_failed_before=False
        )
        ended = transitions.completed(fenced, NOW)
        assert ended.producer == (P, 32_767)
        with pytest.raises(transitions.ProducerIdNeeded):
            transitions.initialized(ended, None, 1, NOW)


def test_no_client_is_given_the_epoch_that_is_kept_for_fencing() -> None:
    fenced = transitions.fenced(transaction(State.ONGOING, LAST), 2, NOW, has_failed_before=False)
    ended = transitions.completed(fenced, NOW)
    begun = transitions.initialized(ended, by(LAST), 1, NOW, OTHER)  # as after a lost answer
    assert (begun.producer, begun.last_producer_epoch) == ((OTHER, 0), LAST)
    assert transitions.initialized(begun, by(LAST), 1, NOW).producer == (OTHER, 0)


def test_a_producer_that_did_not_hear_of_its_last_epoch_is_told_again() -> None:
    raised = transitions.initialized(transaction(epoch=LAST - 1), by(LAST - 1), 1, NOW)
    assert transitions.initialized(raised, by(LAST - 1), 1, NOW).producer == (P, LAST)


# Partitions.


@pytest.mark.parametrize("state", [State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT])
def test_partitions_begin_a_transaction(state: State) -> None:
    begun = transitions.with_partitions(transaction(state), by(), [A, B], 2, NOW)
    assert (begun.state, begun.partitions) == (State.ONGOING, {A, B})
    assert (begun.start_ms, begun.client_version) == (NOW, 2)


def test_more_partitions_leave_its_beginning_alone() -> None:
    grown = transitions.with_partitions(transaction(State.ONGOING), by(), [B], 0, NOW)
    assert (grown.partitions, grown.start_ms) == ({A, B}, 500)


def test_partitions_that_are_there_change_nothing() -> None:
    before = transaction(State.ONGOING)
    assert transitions.with_partitions(before, by(), [A], 0, NOW) is before


@pytest.mark.parametrize(
    ("who", "state", "error"),
    [
        (by(5, OTHER), State.ONGOING, "INVALID_PRODUCER_ID_MAPPING"),
        (by(4), State.ONGOING, "PRODUCER_FENCED"),
        (by(6), State.EMPTY, "PRODUCER_FENCED"),
        (by(5), State.PREPARE_COMMIT, "CONCURRENT_TRANSACTIONS"),
        (by(5), State.PREPARE_ABORT, "CONCURRENT_TRANSACTIONS"),
    ],
)
def test_who_may_not_add_may_not_verify_either(
    who: ProducerIdAndEpoch, state: State, error: str
) -> None:
    before = transaction(state)
    assert outcome(lambda: transitions.with_partitions(before, who, [A], 0, NOW)) == error
    with pytest.raises(ApiError) as caught:
        transitions.verified(before, who, [A])
    assert caught.value.code.name == error


def test_what_was_not_added_can_be_aborted() -> None:
    found = transitions.verified(transaction(State.ONGOING), by(), [A, B])
    assert found == {A: ErrorCode.NONE, B: ErrorCode.TRANSACTION_ABORTABLE}
    assert transitions.verified(transaction(State.EMPTY), by(), [A]) == {
        A: ErrorCode.TRANSACTION_ABORTABLE
    }


# The end.

V1_ENDS = [
    # state, commit, abort
    (State.EMPTY, "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
    (State.ONGOING, "PrepareCommit", "PrepareAbort"),
    (State.PREPARE_COMMIT, "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE"),
    (State.PREPARE_ABORT, "INVALID_TXN_STATE", "CONCURRENT_TRANSACTIONS"),
    (State.COMPLETE_COMMIT, "again", "INVALID_TXN_STATE"),
    (State.COMPLETE_ABORT, "INVALID_TXN_STATE", "again"),
]


@pytest.mark.parametrize(("state", "commit", "abort"), V1_ENDS)
def test_ends_that_keep_the_epoch(state: State, commit: str, abort: str) -> None:
    before = transaction(state)
    assert outcome(lambda: transitions.ended(before, by(), True, NOW)) == commit
    assert outcome(lambda: transitions.ended(before, by(), False, NOW)) == abort
    for who in (by(4), by(6)):
        assert outcome(lambda w=who: transitions.ended(before, w, True, NOW)) == "PRODUCER_FENCED"
    unknown = outcome(lambda: transitions.ended(before, by(5, OTHER), True, NOW))
    assert unknown == "INVALID_PRODUCER_ID_MAPPING"


V2_ENDS = [
    # state, commit and abort by the current epoch, commit and abort by the one before
    (State.EMPTY, "INVALID_TXN_STATE", "PrepareAbort", "PRODUCER_FENCED", "PRODUCER_FENCED"),
    (State.ONGOING, "PrepareCommit", "PrepareAbort", "PRODUCER_FENCED", "PRODUCER_FENCED"),
    (
        State.PREPARE_COMMIT,
        "PRODUCER_FENCED",
        "PRODUCER_FENCED",
        "CONCURRENT_TRANSACTIONS",
        "INVALID_TXN_STATE",
    ),
    (
        State.PREPARE_ABORT,
        "PRODUCER_FENCED",
        "PRODUCER_FENCED",
        "INVALID_TXN_STATE",
        "CONCURRENT_TRANSACTIONS",
    ),
    (State.COMPLETE_COMMIT, "INVALID_TXN_STATE", "PrepareAbort", "again", "INVALID_TXN_STATE"),
    (State.COMPLETE_ABORT, "INVALID_TXN_STATE", "PrepareAbort", "INVALID_TXN_STATE", "again"),
]


@pytest.mark.parametrize(("state", "commit", "abort", "old_commit", "old_abort"), V2_ENDS)
def test_ends_that_raise_the_epoch(
    state: State, commit: str, abort: str, old_commit: str, old_abort: str
) -> None:
    before = transaction(state)

    def decided(who: ProducerIdAndEpoch, is_commit: bool) -> str:
        return outcome(lambda: transitions.ended_with_new_epoch(before, who, is_commit, NOW))

    assert (decided(by(5), True), decided(by(5), False)) == (commit, abort)
    assert (decided(by(4), True), decided(by(4), False)) == (old_commit, old_abort)
    assert decided(by(3), True) == decided(by(6), False) == "PRODUCER_FENCED"
    assert decided(by(5, OTHER), True) == "INVALID_PRODUCER_ID_MAPPING"


def test_an_end_raises_the_epoch_and_completion_keeps_it() -> None:
    prepared = transitions.ended_with_new_epoch(transaction(State.ONGOING), by(), True, NOW)
    assert (prepared.producer, prepared.last_producer_epoch) == ((P, 6), 5)
    complete = transitions.completed(prepared, NOW + 1)
    assert (complete.producer, complete.state) == ((P, 6), State.COMPLETE_COMMIT)
    assert (complete.partitions, complete.last_update_ms) == (frozenset(), NOW + 1)


def test_an_abort_of_nothing_begins_when_it_ends() -> None:
    prepared = transitions.ended_with_new_epoch(transaction(), by(), False, NOW)
    assert (prepared.start_ms, prepared.partitions) == (NOW, frozenset())


def test_an_end_with_the_last_epoch_leads_to_a_new_id() -> None:
    before = transaction(State.ONGOING, LAST)
    ask = transitions.ended_with_new_epoch
    assert outcome(lambda: ask(before, by(LAST), True, NOW)) == "needs an id"
    prepared = ask(before, by(LAST), True, NOW, OTHER)
    assert (prepared.producer, prepared.next_producer_id) == ((P, 32_767), OTHER)
    complete = transitions.completed(prepared, NOW)
    assert (complete.producer, complete.previous_producer_id) == ((OTHER, 0), P)
    assert complete.next_producer_id == -1
    assert outcome(lambda: ask(complete, by(LAST), True, NOW)) == "again"
    assert outcome(lambda: ask(complete, by(LAST), False, NOW)) == "INVALID_TXN_STATE"
    assert outcome(lambda: ask(prepared, by(LAST), True, NOW)) == "CONCURRENT_TRANSACTIONS"
    begun = transitions.with_partitions(complete, by(0, OTHER), [A], 2, NOW)
    assert outcome(lambda: ask(begun, by(LAST), True, NOW)) == "INVALID_PRODUCER_ID_MAPPING"
