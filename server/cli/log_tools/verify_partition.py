"""Check a partition's directory: its segments in order, and what goes with them."""

import os
from collections.abc import Sequence
from pathlib import Path

from barnabas.server.cli.log_tools.files import Kind, LogFile, files_in
from barnabas.server.cli.log_tools.problems import BatchCheck, Problem, Problems, damaged
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.server.cli.log_tools.verify_indexes import OffsetIndexCheck, TimeIndexCheck
from barnabas.server.cli.log_tools.verify_producers import ProducerCheck
from barnabas.server.cli.log_tools.verify_records import (
    batch_problem,
    order_problem,
    trailing_problem,
)
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.directory.partition_metadata import read_topic_id
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptBatch, CorruptCheckpoint
from barnabas.storage.file_names import CLEANED, SWAP
from barnabas.storage.producers.leader_epochs import parse_epochs

_PEEK_BYTES = 1 << 16


class PartitionCheck:
    """One partition's directory; after `run` what was found in it can be asked for."""

    def __init__(self, directory: Path, log_start_offset: int = 0, *, shallow: bool) -> None:
        self.directory = directory
        self.topic_id: bytes | None = None
        self.log_start_offset = log_start_offset
        self.next_offset = 0
        self.segments = self.batches = 0
        self.is_cut = False
        """A segment ends with something else than a batch: the log's end is not known."""
        self._shallow = shallow
        self._files = files_in(directory)
        self._producers = ProducerCheck(self._of(Kind.SNAPSHOT), self._of(Kind.TRANSACTION_INDEX))
        self._epochs: list[tuple[int, int]] = []
        self._gaps: list[Problem] = []
        self._is_compacted = False

    def _of(self, kind: Kind) -> list[LogFile]:
        return [file for file in self._files if file.kind is kind]

    def run(self) -> Problems:
        """Check everything. Raises OSError."""
        yield from self._unfinished()
        yield from self._metadata()
        logs = self._of(Kind.LOG)
        yield from self._orphans({file.base_offset for file in logs})
        for number, file in enumerate(logs):
            yield from self._segment(file, is_closed=number + 1 < len(logs))
        if not self._is_compacted:
            yield from self._gaps
        if not self.is_cut:
            yield from self._producers.compare_rest(max(self.next_offset, self.log_start_offset))
            yield from self._epochs_above_end()

    # --- the directory -----------------------------------------------------------------

    def _unfinished(self) -> Problems:
        for path in sorted(self.directory.iterdir()):
            if path.suffix in (CLEANED, SWAP):
                name = f"{self.directory.name}/{path.name}"
                yield Problem(name, "left by a compaction that did not finish")

    def _orphans(self, bases: set[int]) -> Problems:
        for file in self._files:
            if file.kind in (Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX):
                if file.base_offset not in bases:
                    yield Problem(file.name, "an index without its log")

    def _metadata(self) -> Problems:
        for file in self._of(Kind.PARTITION_METADATA):
            try:
                self.topic_id = read_topic_id(READ_ONLY, str(self.directory))
            except CorruptCheckpoint as error:
                yield damaged(file, error)
        for file in self._of(Kind.EPOCHS):
            try:
                self._epochs = parse_epochs(file.path.read_bytes())
            except CorruptCheckpoint as error:
                yield damaged(file, error)
            for before, after in zip(self._epochs, self._epochs[1:], strict=False):
                if after[0] <= before[0] or after[1] <= before[1]:
                    yield Problem(
                        file.name, f"epoch {after[0]} from {after[1]} does not come after {before}"
                    )

    def _epochs_above_end(self) -> Problems:
        for file in self._of(Kind.EPOCHS):
            if self.batches and not file.path.stat().st_size:
                yield Problem(file.name, "empty, though the log has records")
        if self._epochs and self._epochs[-1][1] > self.next_offset:
            epoch, start = self._epochs[-1]
            reason = f"epoch {epoch} begins at {start}, above the log's end {self.next_offset}"
            yield Problem(self._of(Kind.EPOCHS)[0].name, reason)

    # --- segments ----------------------------------------------------------------------

    def _segment(self, file: LogFile, *, is_closed: bool) -> Problems:
        self.segments += 1
        base = file.base_offset
        if base < self.next_offset:
            reason = f"the segment before it reaches to {self.next_offset - 1}"
            yield Problem(file.name, reason, None, base)
        elif self.segments > 1 and base > self.next_offset and not self.is_cut:
            reason = f"the segment before it ends at {self.next_offset}: offsets are missing"
            self._gaps.append(Problem(file.name, reason, None, base))
        yield from self._producers.begin_segment(base)
        checks = self._checks(base, is_closed=is_closed)
        self.next_offset = max(self.next_offset, base)
        opened = OpenFile(REAL, os.open(file.path, os.O_RDONLY))
        yield from self._walk(file, opened, checks)
        is_empty = file.path.stat().st_size == 0
        self._is_compacted |= is_closed and is_empty
        if is_closed or not is_empty:
            yield from self._missing_indexes(file)

    def _checks(self, base: int, *, is_closed: bool) -> list[BatchCheck]:
        checks: list[BatchCheck] = [self._producers]
        for file in self._files:
            if file.base_offset == base and file.kind is Kind.INDEX:
                checks.append(OffsetIndexCheck(file))
            elif file.base_offset == base and file.kind is Kind.TIME_INDEX:
                checks.append(TimeIndexCheck(file, is_closed=is_closed))
        return checks

    def _missing_indexes(self, file: LogFile) -> Problems:
        kinds = {each.kind for each in self._files if each.base_offset == file.base_offset}
        for kind in (Kind.INDEX, Kind.TIME_INDEX):
            if kind not in kinds:
                yield Problem(file.name, f"the segment has no .{kind} file")

    def _walk(self, file: LogFile, opened: OpenFile, checks: Sequence[BatchCheck]) -> Problems:
        end = position = 0
        size = opened.size_bytes()
        try:
            for position, header, chunk in read_batches(opened, 0, size):
                end = position + header.size_bytes
                self.batches += 1
                yield from self._batch(file, position, header, chunk, checks)
        except CorruptBatch as error:
            self.is_cut = True
            rest = opened.read(min(size - end, _PEEK_BYTES), end)
            reason = trailing_problem(rest, size - end, error.reason)
            yield Problem(file.name, reason, end, self.next_offset)
            return
        for check in checks:
            for problem in check.finish():
                yield problem if problem.file else problem._replace(file=file.name)

    def _batch(
        self,
        file: LogFile,
        position: int,
        header: BatchHeader,
        chunk: bytes,
        checks: Sequence[BatchCheck],
    ) -> Problems:
        reason = batch_problem(chunk, header, shallow=self._shallow) or order_problem(
            header, self.next_offset, file.base_offset
        )
        if reason is None:
            reason = self._epoch_problem(header)
        if reason is not None:
            yield Problem(file.name, reason, position, header.base_offset)
        self._is_compacted |= _was_compacted(header, self.next_offset)
        self.next_offset = max(self.next_offset, header.next_offset)
        for check in checks:
            yield from check.see(position, header, chunk)

    def _epoch_problem(self, header: BatchHeader) -> str | None:
        """A batch's leader epoch is the one that the checkpoint has for its offset."""
        epoch, offset = header.partition_leader_epoch, header.base_offset
        if not self._epochs or epoch < 0 or header.magic < MAGIC_V2 or offset < self._epochs[0][1]:
            return None
        known = max(entry for entry in self._epochs if entry[1] <= offset)
        if known[0] == epoch:
            return None
        return f"leader epoch {epoch} where the checkpoint has {known[0]}, from {known[1]} on"


def _was_compacted(header: BatchHeader, next_offset: int) -> bool:
    """Does a batch, or a gap before it, show that compaction has been here?"""
    if header.magic < MAGIC_V2:
        return False  # a wrapper does not say where it begins
    is_whole = header.record_count == header.last_offset_delta + 1
    return not is_whole or header.delete_horizon_ms is not None or header.base_offset > next_offset
