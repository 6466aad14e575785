"""What a set of batches would change in a partition's producer state, before it is written.

The checks run on copies of the entries they touch; `commit` puts the copies in place once the
batches are on disk. A batch that breaks a rule thus leaves no trace. Followers and recovery
take what the leader accepted: for them only the bookkeeping is done.
"""

from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import BatchHeader, Buffer
from barnabas.storage.batch.records import decode_batch
from barnabas.storage.producers.entry import (
    UNKNOWN_MS,
    AppendOrigin,
    CompletedTransaction,
    ProducerEntry,
    SentBatch,
)
from barnabas.storage.producers.state import ProducerState


def marker_of(buffer: Buffer, header: BatchHeader) -> EndTransactionMarker | None:
    """The transaction marker in a control batch; None if it is of another kind or empty."""
    record = next(iter(decode_batch(buffer, header)), None)
    control = None if record is None else parse_control(record)
    return control if isinstance(control, EndTransactionMarker) else None


class ProducerUpdates:
    """Pending changes to one partition's producers, batch by batch."""

    def __init__(self, state: ProducerState, origin: AppendOrigin) -> None:
        self._state = state
        self._origin = origin
        self._entries: dict[int, ProducerEntry] = {}
        self._started: dict[int, int] = {}
        self._completed: list[CompletedTransaction] = []

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self._entries.get(producer_id)
        if entry is None:
            known = self._state.producers.get(producer_id)
            entry = ProducerEntry(producer_id) if known is None else known.copy()
            self._entries[producer_id] = entry
        return entry

    def find_duplicate(self, header: BatchHeader) -> SentBatch | None:
        """The kept batch that a producer sends again here, if it does."""
        known = self._state.producers.get(header.producer_id)
        if known is None:
            return None
        return known.find_duplicate(
            header.producer_epoch, header.base_sequence, header.last_offset_delta
        )

    def add(self, buffer: Buffer, header: BatchHeader, transaction_version: int = 0) -> None:
        """Take in one batch of `buffer`, whose offsets are final; raises what is wrong with it."""
        if header.is_control:
            self._add_marker(buffer, header, transaction_version)
        else:
            self._add_data(header)

    def _add_data(self, header: BatchHeader) -> None:
        entry = self._entry(header.producer_id)
        first, epoch = header.base_offset, header.producer_epoch
        if self._origin is not AppendOrigin.REPLICATION:
            entry.check_epoch(epoch, first)
            entry.check_transaction(header.is_transactional, first)
        if self._origin is AppendOrigin.CLIENT:
            entry.check_sequence(epoch, header.base_sequence, first)
        if _note_data(entry, header):
            self._started[first] = header.producer_id

    def _add_marker(self, buffer: Buffer, header: BatchHeader, transaction_version: int) -> None:
        marker = marker_of(buffer, header)
        if marker is None:
            return
        entry = self._entry(header.producer_id)
        epoch, offset = header.producer_epoch, header.base_offset
        if self._origin is not AppendOrigin.REPLICATION:
            entry.check_marker(epoch, marker.coordinator_epoch, offset, transaction_version)
        completed = entry.end_transaction(
            epoch,
            marker.coordinator_epoch,
            offset,
            header.max_timestamp,
            is_abort=not marker.is_commit,
        )
        if completed is not None:
            self._completed.append(completed)

    @property
    def has_aborted(self) -> bool:
        """Whether transactions are aborted by these batches."""
        return any(completed.is_aborted for completed in self._completed)

    def commit(self, now_ms: int = UNKNOWN_MS) -> list[tuple[CompletedTransaction, int]]:
        """Put the changes in place: each ended transaction with its last stable offset."""
        for entry in self._entries.values():
            entry.written_ms = now_ms
            self._state.replace(entry)
        for first_offset, producer_id in self._started.items():
            self._state.ongoing[first_offset] = producer_id
        return [(completed, self._state.complete(completed)) for completed in self._completed]


def _note_data(entry: ProducerEntry, header: BatchHeader) -> bool:
    """Take a data batch into its producer's entry; True if a transaction begins with it."""
    first = header.base_offset
    entry.add_batch(
        header.producer_epoch,
        header.last_sequence,
        first,
        header.last_offset,
        header.max_timestamp,
    )
    if header.is_transactional and entry.current_transaction_first_offset < 0:
        entry.current_transaction_first_offset = first
        return True
    return False


def replay(
    state: ProducerState, buffer: Buffer, header: BatchHeader
) -> list[tuple[CompletedTransaction, int]]:
    """Take in a batch that is in the log already: the transactions it ends, as from `commit`.

    Nothing can be wrong with it, so that entries are changed in place: whole segments are
    replayed, while the broker waits.
    """
    if header.is_control:
        updates = ProducerUpdates(state, AppendOrigin.REPLICATION)
        updates.add(buffer, header)
        return updates.commit()
    producer_id = header.producer_id
    entry = state.producers.get(producer_id)
    if entry is None:
        entry = ProducerEntry(producer_id)
        state.replace(entry)
    if _note_data(entry, header):
        state.ongoing[header.base_offset] = producer_id
    return []
