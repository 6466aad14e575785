"""Do producer snapshots and transaction indexes say what the batches say?

The producers are followed through the log. At each snapshot's offset what it says of a producer
has to be what the log says, where the log still says anything; a transaction's abort marker has
to stand in the transaction index of its segment. Compaction and retention take batches away,
and idle producers are forgotten: what is missing on one side only is no contradiction.
"""

from collections.abc import Sequence

from barnabas.server.cli.log_tools.files import LogFile
from barnabas.server.cli.log_tools.problems import Problem, Problems, damaged
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex, CorruptSnapshot, StorageError
from barnabas.storage.producers.entry import AppendOrigin, ProducerEntry
from barnabas.storage.producers.snapshot import parse_snapshot
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import ProducerUpdates
from barnabas.storage.segment.transaction_index import AbortedTransaction, TransactionIndex


class ProducerCheck:
    """The producer snapshots and transaction indexes of one partition."""

    def __init__(self, snapshots: Sequence[LogFile], indexes: Sequence[LogFile]) -> None:
        self._state = ProducerState(READ_ONLY, "")
        self._snapshots = list(snapshots)
        self._indexes = {file.base_offset: file for file in indexes}
        self._index: LogFile | None = None
        self._expected: dict[int, AbortedTransaction] = {}
        self._seen_any = False

    def begin_segment(self, base_offset: int) -> Problems:
        """A segment begins; the first one's snapshot is where the producers are taken from."""
        self._index = self._indexes.get(base_offset)
        self._expected = {}
        if not self._seen_any:
            self._seen_any = True
            yield from self._adopt_first(base_offset)

    def _adopt_first(self, base_offset: int) -> Problems:
        while self._snapshots and self._snapshots[0].base_offset <= base_offset:
            try:
                entries = parse_snapshot(self._snapshots[0].path.read_bytes())
            except CorruptSnapshot as error:
                yield damaged(self._snapshots[0], error)
            else:
                self._state = ProducerState(READ_ONLY, "")
                for entry in entries:
                    self._state.replace(entry)
            del self._snapshots[0]

    def see(self, position: int, header: BatchHeader, chunk: bytes) -> Problems:
        """The next batch of the log."""
        yield from self.compare_below(header.base_offset)
        if not header.has_producer_id:
            return
        updates = ProducerUpdates(self._state, AppendOrigin.REPLICATION)
        try:
            updates.add(chunk, header)
        except StorageError:
            return  # a control record that cannot be read was reported with its batch
        for completed, stable_offset in updates.commit():
            if completed.is_aborted:
                self._expected[completed.last_offset] = AbortedTransaction(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    stable_offset,
                )

    def finish(self) -> Problems:
        """The segment has ended: its transaction index has to hold what was aborted in it."""
        if self._index is None:
            if self._expected:
                first = next(iter(self._expected.values()))
                offset = first.last_offset
                yield Problem(
                    "", f"the abort of {first.producer_id} at {offset} is in no transaction index"
                )
            return
        try:
            entries = TransactionIndex(
                FileCache(READ_ONLY), str(self._index.path), self._index.base_offset, exists=True
            ).entries()
        except CorruptIndex as error:
            yield damaged(self._index, error)
            return
        yield from self._compare_aborted({entry.last_offset: entry for entry in entries})

    def _compare_aborted(self, found: dict[int, AbortedTransaction]) -> Problems:
        assert self._index is not None
        for offset, expected in self._expected.items():
            entry = found.get(offset)
            if entry is None:
                reason = f"the transaction of producer {expected.producer_id} aborted is missing"
                yield Problem(self._index.name, reason, None, offset)
            elif (entry.producer_id, entry.first_offset) != (
                expected.producer_id,
                expected.first_offset,
            ):
                reason = f"producer {entry.producer_id} from {entry.first_offset} is said to be"
                yield Problem(
                    self._index.name,
                    f"{reason} aborted, in the log it is producer {expected.producer_id}"
                    f" from {expected.first_offset}",
                    None,
                    offset,
                )

    def compare_below(self, offset: int) -> Problems:
        """Compare the snapshots at or below an offset which the log has now been followed to."""
        while self._snapshots and self._snapshots[0].base_offset <= offset:
            yield from self._compare(self._snapshots.pop(0))

    def compare_rest(self, log_end_offset: int) -> Problems:
        """The log has ended."""
        yield from self.compare_below(log_end_offset)
        for file in self._snapshots:
            yield Problem(file.name, f"it is for an offset above the log's end, {log_end_offset}")

    def _compare(self, file: LogFile) -> Problems:
        try:
            entries = parse_snapshot(file.path.read_bytes())
        except CorruptSnapshot as error:
            yield damaged(file, error)
            return
        for entry in entries:
            known = self._state.producers.get(entry.producer_id)
            if known is not None and _contradicts(entry, known):
                yield Problem(
                    file.name,
                    f"producer {entry.producer_id} has {_said(entry)}, in the log {_said(known)}",
                )


def _contradicts(said: ProducerEntry, known: ProducerEntry) -> bool:
    """Whether a snapshot lacks what the log has.

    It may well have more: compaction takes batches away.
    """
    if said.epoch != known.epoch:
        return said.epoch < known.epoch
    if said.last_data_offset != known.last_data_offset:
        return said.last_data_offset < known.last_data_offset
    open_since = known.current_transaction_first_offset
    return (
        said.last_sequence != known.last_sequence
        or said.current_transaction_first_offset != open_since
    )


def _said(entry: ProducerEntry) -> str:
    said = (
        f"epoch {entry.epoch}, last sequence {entry.last_sequence}"
        f" and offset {entry.last_data_offset}"
    )
    first = entry.current_transaction_first_offset
    return said if first < 0 else f"{said}, a transaction open since {first}"
