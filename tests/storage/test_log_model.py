"""Random operations on a real log against a model that is a list of batches in memory."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.compaction.cleaned_segment import CleanedSegment
from barnabas.storage.compaction.job import SourceSegment
from barnabas.storage.errors import InvalidTransactionState, OffsetOutOfRange, OutOfOrderSequence
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin

from .compaction_jobs import job_for
from .logs import delete_due_files

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=100, file_delete_delay_ms=0)
PRODUCERS = st.integers(1, 3)


@dataclass
class Batch:
    """One batch of the model; `kind` is data, commit or abort."""

    first: int
    timestamps: list[int]
    producer: int = -1
    sequence: int = -1
    transactional: bool = False
    kind: str = "data"
    epoch: int = 0

    @property
    def last(self) -> int:
        return self.first + len(self.timestamps) - 1


@dataclass
class Model:
    """The log as anybody would write it who had endless memory and no disk."""

    start: int = 0
    end: int = 0
    batches: list[Batch] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.end = batch.last + 1

    def visible(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.last >= self.start]

    def truncate(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.last < offset]
        self.end = offset
        self.start = min(self.start, offset)

    def open_transactions(self) -> dict[int, int]:
        """Producer id → first offset of its open transaction."""
        opened: dict[int, int] = {}
        for batch in self.batches:
            if batch.kind != "data":
                opened.pop(batch.producer, None)
            elif batch.transactional:
                opened.setdefault(batch.producer, batch.first)
        return opened

    def transactions(self) -> list[tuple[str, list[Batch]]]:
        """How each ended transaction ended, with its batches and its marker."""
        opened: dict[int, list[Batch]] = {}
        ended = []
        for batch in self.batches:
            if batch.kind == "data" and batch.transactional:
                opened.setdefault(batch.producer, []).append(batch)
            elif batch.kind != "data" and batch.producer in opened:
                ended.append((batch.kind, [*opened.pop(batch.producer), batch]))
        return ended

    def lowest_truncation(self) -> int:
        """Reopening a transaction that has lost records to the log start is nobody's wish."""
        cut = [
            batches[-1].last + 1
            for _, batches in self.transactions()
            if batches[0].first < self.start
        ]
        return max([self.start, *cut])

    def next_sequence(self, producer: int) -> int | None:
        """None if nothing in the log says: the log may then know more, or nothing."""
        mine = [
            each for each in self.visible() if each.producer == producer and each.kind == "data"
        ]
        return mine[-1].sequence + len(mine[-1].timestamps) if mine else None

    def first_at_or_after(self, timestamp: int) -> tuple[int, int] | None:
        for batch in self.visible():
            for delta, found in enumerate(batch.timestamps):
                if found >= timestamp and batch.first + delta >= self.start:
                    return batch.first + delta, found
        return None


class LogMachine(RuleBasedStateMachine):
    """Does the same to a log and to the model."""

    @initialize()
    def open(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="barnabas-model-"))
        self.directory = self.root / "t-0"
        self.directory.mkdir()
        self.now_ms = 1_000
        self.epoch = 0
        self.model = Model()
        self.log = self.reopened(clean=True, recovery_point=0, start=0)

    def reopened(self, *, clean: bool, recovery_point: int, start: int) -> Log:
        self.now_ms += 1
        log = Log.open(
            str(self.directory),
            "t-0",
            CONFIG,
            self.now_ms,
            clean_shutdown=clean,
            recovery_point=recovery_point,
            log_start_offset=start,
        )
        log.update_high_watermark(log.log_end_offset)
        return log

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close_files()
            shutil.rmtree(self.root)

    def send(self, batch: Batch, value_bytes: int) -> None:
        records = [
            Record(delta, timestamp, b"k", b"v" * value_bytes)
            for delta, timestamp in enumerate(batch.timestamps)
        ]
        data = build_batch(
            records,
            producer_id=batch.producer,
            producer_epoch=0 if batch.producer >= 0 else -1,
            base_sequence=batch.sequence,
            is_transactional=batch.transactional,
        )
        info = self.log.append_as_leader(memoryview(data), self.epoch, self.now_ms)
        if info.is_duplicate:
            assert (info.first_offset, info.last_offset) == (batch.first, batch.last)
            return
        assert (info.first_offset, info.last_offset) == (batch.first, batch.last)
        assert info.max_timestamp == max(batch.timestamps)
        batch.epoch = self.epoch
        self.model.add(batch)
        self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    @rule(timestamps=st.lists(st.integers(1, 60), min_size=1, max_size=4), size=st.integers(0, 300))
    def append(self, timestamps: list[int], size: int) -> None:
        self.send(Batch(self.model.end, timestamps), size // len(timestamps))

    @rule(producer=PRODUCERS, count=st.integers(1, 3), transactional=st.booleans())
    def append_with_sequence(self, producer: int, count: int, transactional: bool) -> None:
        entry = self.log.producers.producers.get(producer)
        sequence = self.model.next_sequence(producer)
        if sequence is None:
            sequence = 0 if entry is None else entry.last_sequence + 1
        elif entry is not None:
            assert entry.last_sequence + 1 == sequence
        batch = Batch(self.model.end, [30] * count, producer, sequence, transactional)
        if producer in self.model.open_transactions() and not transactional:
            with pytest.raises(InvalidTransactionState):
                self.send(batch, 10)
        else:
            self.send(batch, 10)

    @rule(producer=PRODUCERS, back=st.integers(1, 5))
    def send_again(self, producer: int, back: int) -> None:
        entry = self.log.producers.producers.get(producer)
        if entry is None or len(entry.batches) < back:
            return
        last_sequence, last_offset, delta, _ = entry.batches[-back]
        first = last_offset - delta
        sent = Batch(first, [30] * (delta + 1), producer, last_sequence - delta, False)
        self.send(sent, 10)
        assert self.log.log_end_offset == self.model.end

    @rule(producer=PRODUCERS)
    def send_out_of_order(self, producer: int) -> None:
        if producer in self.log.producers.producers:
            batch = Batch(self.model.end, [30], producer, 1_000_000, True)
            with pytest.raises(OutOfOrderSequence):
                self.send(batch, 10)

    @rule(producer=PRODUCERS, commit=st.booleans())
    def end_transaction(self, producer: int, commit: bool) -> None:
        data = build_end_transaction_marker(
            EndTransactionMarker(is_commit=commit, coordinator_epoch=0),
            producer_id=producer,
            producer_epoch=0,
            timestamp_ms=30,
        )
        self.log.append_as_leader(
            memoryview(bytearray(data)), self.epoch, self.now_ms, origin=AppendOrigin.COORDINATOR
        )
        kind = "commit" if commit else "abort"
        self.model.add(Batch(self.model.end, [30], producer, -1, True, kind, self.epoch))
        self.log.maybe_increment_high_watermark(self.log.log_end_offset)

    @rule()
    def new_epoch(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.model.end

    @rule(fraction=st.floats(0, 1))
    def truncate(self, fraction: float) -> None:
        span = self.model.end - self.model.start
        offset = self.model.start + int(fraction * span)
        starts = {batch.first for batch in self.model.batches} | {self.model.end}
        offset = min(start for start in starts if start >= offset)
        if offset < self.log.segments.first.base_offset:
            return
        if offset < self.model.lowest_truncation():
            return
        self.log.truncate_to(offset, self.now_ms)
        self.model.truncate(offset)

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction: float) -> None:
        stable = self.log.last_stable_offset
        offset = self.model.start + int(fraction * (stable - self.model.start))
        assert self.log.maybe_increment_log_start_offset(offset) == (offset > self.model.start)
        self.model.start = max(offset, self.model.start)

    @rule()
    def delete_segment(self) -> None:
        following = self.log.segments.after(self.log.segments.first.base_offset)
        if following is not None and following.base_offset <= self.log.last_stable_offset:
            assert self.log.delete_old_segments(1, self.now_ms) == 1
            self.model.start = max(self.model.start, following.base_offset)

    @precondition(lambda self: len(self.log.segments) > 2)
    @rule()
    def compact(self) -> None:
        """Two closed segments become one with the same batches."""
        old = list(self.log.segments)[:2]
        job = job_for(self.directory, [SourceSegment(0, 1, 1)], CONFIG)
        cleaned = CleanedSegment(self.log.fs, job, old[0].base_offset).segment
        for segment in old:
            content = segment.slice(0, segment.size_bytes).read()
            if content:
                cleaned.append_set(content, list(walk(content)))
            for aborted in segment.transaction_index.entries():
                cleaned.transaction_index.append(aborted)
        cleaned.finish()
        cleaned.sync()
        cleaned.close()
        self.log.store.replace([old[0].base_offset], old, self.now_ms)

    @rule()
    def delete_due_files(self) -> None:
        delete_due_files(self.log, self.now_ms)
        assert not list(self.directory.glob("*.deleted"))

    @rule()
    def stop_and_start(self) -> None:
        self.log.close()
        self.log = self.reopened(clean=True, recovery_point=0, start=self.model.start)
        assert self.log.load_report.notes == []

    @rule()
    def kill_and_start(self) -> None:
        point = self.log.recovery_point
        self.log.close_files()
        self.log = self.reopened(clean=False, recovery_point=point, start=self.model.start)
        assert self.log.load_report.truncated_bytes == 0

    @invariant()
    def ends_agree(self) -> None:
        log, model = self.log, self.model
        assert (log.log_start_offset, log.log_end_offset) == (model.start, model.end)
        opened = model.open_transactions()
        assert log.last_stable_offset == min([*opened.values(), model.end])

    @invariant()
    def reads_agree(self) -> None:
        found = []
        offset = self.model.start
        while (records := self.log.read(offset, 1, bound=ReadBound.LOG_END).records) is not None:
            data = records.read()
            (header,) = walk(data)
            times = [record.timestamp for record in decode_batch(data, header)]
            found.append((header.base_offset, times, header.producer_id))
            offset = header.next_offset
        wanted = [(batch.first, batch.timestamps, batch.producer) for batch in self.model.visible()]
        assert found == wanted
        with pytest.raises(OffsetOutOfRange):
            self.log.read(self.model.end + 1, 1)

    @invariant()
    def committed_reads_agree(self) -> None:
        stable = self.log.last_stable_offset
        for batch in self.model.visible():
            if batch.first < self.model.start or batch.first >= stable:
                continue
            result = self.log.read(batch.first, 10_000, bound=ReadBound.LAST_STABLE)
            assert result.records is not None and result.aborted_transactions is not None
            last = list(walk(result.records.read()))[-1].last_offset
            assert last < stable
            for kind, batches in self.model.transactions():
                seen = [each for each in batches[:-1] if batch.first <= each.first <= last]
                if kind == "abort" and seen:
                    assert any(
                        producer == seen[0].producer and first <= seen[0].first
                        for producer, first in result.aborted_transactions
                    )

    @invariant()
    def timestamps_agree(self) -> None:
        for timestamp in (1, 15, 30, 45, 61):
            found = self.log.lookup.by_timestamp(timestamp)
            wanted = self.model.first_at_or_after(timestamp)
            assert (found and (found.offset, found.timestamp)) == wanted


LogMachine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestLogMachine = LogMachine.TestCase
