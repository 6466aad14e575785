"""What a partition's log is made of, and the few rules every part of it relies on.

`Log` is put together from parts that each hold one task (appending, reading, truncating, …)
and share this state:

    log start offset ≤ last stable offset ≤ high watermark ≤ log end offset
    recovery point ≤ log end offset: everything below it is on the disk, fsynced

Time always comes from the caller. An `OSError` becomes `LogDirectoryFailed`: after it nothing
is known of what is on the disk, so the directory's logs are not to be used again.
"""

import logging
from collections import deque
from random import randrange
from typing import Final, NoReturn

from barnabas.storage.append.rules import append_rules
from barnabas.storage.batch.record_times import BELIEVED_AHEAD_MS
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import (
    CorruptBatch,
    CorruptIndex,
    LogDirectoryFailed,
    TooManyOpenFiles,
    is_out_of_descriptors,
)
from barnabas.storage.loading.job import LoadReport
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.verification import TransactionVerification
from barnabas.storage.segment.index_checks import check_largest_timestamp
from barnabas.storage.segment.recovery import rebuild_indexes
from barnabas.storage.segment.search import UNKNOWN
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments

SEGMENTS_SYNCED_AT_ONCE: Final = 32
"""Each with four files at most."""

_logger: Final = logging.getLogger(__name__)


class LogState:
    """The shared state of a log's parts."""

    __slots__ = (
        "_active",
        "_appends_plainly",
        "_believed_ahead_ms",
        "_deletions",
        "_first_unstable_offset",
        "_most_bytes",
        "_rules",
        "_segment_bytes",
        "_segment_ms",
        "config",
        "directory",
        "epochs",
        "files",
        "fs",
        "full_validation",
        "generation",
        "high_watermark",
        "load_report",
        "log_end_offset",
        "log_start_offset",
        "obeys_message_format",
        "producer_id_expiration_ms",
        "producers",
        "recovery_point",
        "refuses_transactions",
        "segments",
        "segments_synced_at_once",
        "topic_partition",
        "truncations",
        "verification",
        "verifies_transactions",
    )

    def __init__(
        self,
        files: FileCache,
        directory: str,
        topic_partition: str,
        config: LogConfig,
        producers: ProducerState,
        epochs: LeaderEpochs,
        segments: Segments,
        *,
        full_validation: bool = False,
        obeys_message_format: bool = False,
    ) -> None:
        self.files = files
        self.fs = files.fs
        self.directory = directory
        self.topic_partition = topic_partition
        self.producers = producers
        self.epochs = epochs
        self.segments = segments
        self.full_validation = full_validation
        self.obeys_message_format = obeys_message_format
        self.producer_id_expiration_ms = 86_400_000
        self.load_report = LoadReport()
        self.truncations = 0
        self.segments_synced_at_once = SEGMENTS_SYNCED_AT_ONCE
        self.generation = 0
        """Raised whenever segments go or are replaced: what somebody has seen of the log before
        need no longer be true."""
        self.verification = TransactionVerification()
        self.verifies_transactions = False
        """Whether a transaction's first batch has to show a guard
        (`transaction.partition.verification.enable`)."""
        self.refuses_transactions = False
        """Whether clients may write no transactional batches: where nobody coordinates
        transactions nobody ends them, and readers of committed data would wait for ever."""
        self.log_start_offset = self.log_end_offset = 0
        self.high_watermark = self.recovery_point = 0
        self._first_unstable_offset: int | None = None
        self._deletions: deque[tuple[int, str]] = deque()
        self._active = segments.last
        self.update_config(config)

    def update_config(self, config: LogConfig) -> None:
        """Use other topic settings from now on."""
        self.config = config
        self._most_bytes = min(config.max_message_bytes, config.segment_bytes)
        self._segment_bytes = config.segment_bytes
        self._segment_ms = config.max_segment_ms
        self._believed_ahead_ms = min(config.message_timestamp_after_max_ms, BELIEVED_AHEAD_MS)
        self._rules = append_rules(
            config,
            check_records=self.full_validation,
            obeys_message_format=self.obeys_message_format,
        )
        # The short way of an append reads no keys and rewrites no timestamps.
        self._appends_plainly = not self._rules.needs_records and not self._rules.is_log_append_time

    @property
    def active_segment(self) -> Segment:
        """The segment that appends go to."""
        return self._active

    @property
    def size_bytes(self) -> int:
        """Bytes of all the log's `.log` files."""
        return self.segments.size_bytes

    @property
    def last_stable_offset(self) -> int:
        """Everything below is replicated, and its transactions are decided."""
        unstable = self._first_unstable_offset
        if unstable is not None and unstable < self.high_watermark:
            return unstable
        return self.high_watermark

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, kept within the log's start and end; what it became."""
        self.high_watermark = min(max(offset, self.log_start_offset), self.log_end_offset)
        if self.producers.settle_below(self.high_watermark):
            self._update_first_unstable_offset()
        return self.high_watermark

    def maybe_increment_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark to `offset`; False where that would not raise it."""
        if offset <= self.high_watermark:
            return False
        if offset > self.log_end_offset:
            raise ValueError(f"high watermark {offset} above log end {self.log_end_offset}")
        self.high_watermark = offset
        if self.producers.settle_below(offset):
            self._update_first_unstable_offset()
        return True

    def _update_first_unstable_offset(self) -> None:
        first = self.producers.first_unstable_offset()
        self._first_unstable_offset = None if first is None else max(first, self.log_start_offset)

    def _new_segment(self, base_offset: int, now_ms: int) -> Segment:
        most = min(self.config.segment_jitter_ms, self._segment_ms)
        jitter_ms = randrange(most) if most > 0 else 0
        return Segment(
            self.files, self.directory, base_offset, self.config, now_ms, roll_jitter_ms=jitter_ms
        )

    def lose_files(self) -> None:
        """Give up the descriptors for good: nothing is read or written from now on.

        After a failed fsync pages count as clean that never reached the disk: what would be
        appended behind them, and synced without complaint, would be acknowledged for nothing.
        """
        for segment in self.segments:
            segment.lose()
        self.epochs.lose()

    def _fail(self, error: OSError) -> NoReturn:
        if is_out_of_descriptors(error):
            raise TooManyOpenFiles(
                f"{self.directory}: {error}", topic_partition=self.topic_partition
            ) from error
        self.lose_files()
        raise LogDirectoryFailed(
            f"{self.directory}: {error}", topic_partition=self.topic_partition
        ) from error

    def _say(self, text: str) -> None:
        self.load_report.notes.append(text)
        _logger.warning("%s: %s", self.topic_partition, text)

    def _mend(self, segment: Segment, error: CorruptIndex | FileNotFoundError) -> None:
        """Make a segment's bad indexes anew, once; after that it is the batches that are bad."""
        if segment.was_mended:
            raise CorruptBatch(str(error), topic_partition=self.topic_partition) from error
        segment.was_mended = True
        self._say(f"{error}; the indexes are made anew")
        try:
            rebuild_indexes(segment)
        except CorruptBatch as bad:
            raise bad.located(self.topic_partition) from None
        if segment is not self._active:
            # Below the recovery point no flush looks at it again.
            segment.sync()
            sync_directory(self.fs, self.directory)

    def _largest_timestamp(self, segment: Segment) -> tuple[int, int]:
        try:
            if segment.max_timestamp == UNKNOWN:
                index = segment.time_index
                check_largest_timestamp(segment, index.last_timestamp, index.last_offset)
            return segment.largest_timestamp()
        except (CorruptIndex, FileNotFoundError) as error:
            self._mend(segment, error)
            return segment.largest_timestamp()
