"""The states of a transactional id, as one table.

    Empty               its producer has an id and an epoch; no transaction was begun with them
    Ongoing             a transaction is open
    PrepareEpochFence   the open transaction's producer is being fenced; never written
    PrepareCommit       the transaction will commit, whatever happens; markers are on their way
    PrepareAbort        the same for an abort
    CompleteCommit      every partition has its marker
    CompleteAbort       the same for an abort
    Dead                expired, the tombstone is being written: nothing leads out

The numbers are those of the records in `__transaction_state`.
"""

from enum import Enum

STATE_NAMES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


class TransactionState(Enum):
    """A state by the number it has in records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def text(self) -> str:
        """The name that Kafka shows."""
        return STATE_NAMES[self.value]


class TransactionEvent(Enum):
    """What moves a transaction."""

    INITIALIZED = "a producer asked for its id and epoch (InitProducerId)"
    PARTITIONS_ADDED = "the producer writes to partitions"
    FENCED = "a newer producer came, or time ran out"
    COMMITTED = "the producer commits"
    ABORTED = "the producer aborts, or its fencing does"
    MARKED = "every partition has its marker"
    EXPIRED = "nobody has used the transactional id for long"


_State, _Event = TransactionState, TransactionEvent
COMPLETE = (_State.COMPLETE_COMMIT, _State.COMPLETE_ABORT)
"""The last transaction has ended everywhere."""
IDLE = (_State.EMPTY, *COMPLETE)
"""No transaction is open."""
PREPARED = (_State.PREPARE_COMMIT, _State.PREPARE_ABORT)
"""It is decided how the transaction ends."""

TRANSITIONS: dict[tuple[TransactionState, TransactionEvent], TransactionState] = {
    **{(state, _Event.INITIALIZED): _State.EMPTY for state in IDLE},
    **{(state, _Event.PARTITIONS_ADDED): _State.ONGOING for state in (*IDLE, _State.ONGOING)},
    (_State.ONGOING, _Event.FENCED): _State.PREPARE_EPOCH_FENCE,
    (_State.ONGOING, _Event.COMMITTED): _State.PREPARE_COMMIT,
    (_State.ONGOING, _Event.ABORTED): _State.PREPARE_ABORT,
    (_State.PREPARE_EPOCH_FENCE, _Event.ABORTED): _State.PREPARE_ABORT,
    # With transactions version 2 a producer that cannot know what it began may always abort.
    **{(state, _Event.ABORTED): _State.PREPARE_ABORT for state in IDLE},
    (_State.PREPARE_COMMIT, _Event.MARKED): _State.COMPLETE_COMMIT,
    (_State.PREPARE_ABORT, _Event.MARKED): _State.COMPLETE_ABORT,
    **{(state, _Event.EXPIRED): _State.DEAD for state in IDLE},
}


class ImpossibleTransition(Exception):
    """An event that the state does not know: a bug in whoever caused it."""


def next_state(state: TransactionState, event: TransactionEvent) -> TransactionState:
    """Where the event leads. Raises ImpossibleTransition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ImpossibleTransition(f"{event.name} in state {state.text}") from None
