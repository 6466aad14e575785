"""`Log`: one partition's log as its clients see it.

It is put together from parts, each of which knows only those named before it:

    offsets     start, end, high watermark, last stable offset: `LogOffsets`
    failures    what becomes of an `OSError`: `FailureChannel`
    store       the segments as files, with their indexes: `SegmentStore`
    flusher     what is durable, and the recovery point: `LogFlusher`
    lookup      offsets by timestamp and by leader epoch: `OffsetLookup`
    reader, appender, trimmer

A `LogListener` is told what the log's owner has to act on. Time always comes from the caller.
Opening is done by `loading/loader.py`.
"""

from typing import Final, Self

from barnabas.storage.append.rules import ValidatedRecords
from barnabas.storage.batch.header import Buffer
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import OffsetOutOfRange
from barnabas.storage.loading.job import LoadJob
from barnabas.storage.loading.loader import Loader
from barnabas.storage.log.append import LogAppender
from barnabas.storage.log.failure_channel import FailureChannel
from barnabas.storage.log.flush import LogFlusher
from barnabas.storage.log.in_steps import TakesLong, takes_long
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.mended_indexes import MendedIndexes
from barnabas.storage.log.offset_lookup import OffsetLookup
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.read import LogReader, nothing
from barnabas.storage.log.results import AppendInfo, ReadBound, ReadResult
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.log.trim import LogTrimmer
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin, ProducerEntry
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.storage.segment.segment import Segment

_CLIENT: Final = AppendOrigin.CLIENT
_HIGH_WATERMARK: Final = ReadBound.HIGH_WATERMARK
_LAST_STABLE: Final = ReadBound.LAST_STABLE


class Log:
    """A partition's log."""

    __slots__ = (
        "appender",
        "config",
        "directory",
        "epochs",
        "failures",
        "files",
        "flusher",
        "fs",
        "load_report",
        "lookup",
        "offsets",
        "producers",
        "reader",
        "segments",
        "store",
        "topic_partition",
        "trimmer",
    )

    def __init__(
        self,
        loader: Loader,
        topic_partition: str,
        listener: LogListener,
        *,
        full_validation: bool = False,
        obeys_message_format: bool = False,
    ) -> None:
        """The log that a loader has opened."""
        job, files = loader.job, loader.files
        fs, directory, segments = files.fs, job.directory, loader.segments
        producers, epochs = loader.producers, loader.epochs
        self.config = job.config
        self.directory = directory
        self.topic_partition = topic_partition
        self.files = files
        self.fs = fs
        self.producers = producers
        self.epochs = epochs
        self.segments = segments
        self.load_report = loader.report
        offsets = LogOffsets(producers, loader.log_start_offset, loader.log_end_offset)
        failures = FailureChannel(directory, topic_partition, segments, epochs, listener)
        indexes = MendedIndexes(fs, directory, topic_partition, segments, loader.report)
        store = SegmentStore(
            files, directory, job.config, segments, producers, indexes, failures, listener
        )
        self.offsets = offsets
        self.failures = failures
        self.store = store
        self.flusher = LogFlusher(
            fs, directory, offsets, store, producers, epochs, loader.recovery_point
        )
        self.lookup = OffsetLookup(offsets, store, epochs)
        self.reader = LogReader(offsets, store)
        self.trimmer = LogTrimmer(
            topic_partition, offsets, store, self.flusher, producers, epochs, listener,
            job.producer_id_expiration_ms,
        )  # fmt: skip
        self.appender = LogAppender(
            topic_partition,
            job.config,
            offsets,
            store,
            producers,
            epochs,
            full_validation=full_validation,
            obeys_message_format=obeys_message_format,
        )

    @classmethod
    def open(
        cls,
        directory: str,
        topic_partition: str,
        config: LogConfig,
        now_ms: int,
        *,
        clean_shutdown: bool = True,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        fs: FileSystem = REAL,
        files: FileCache | None = None,
        producer_id_expiration_ms: int = 86_400_000,
        full_validation: bool = False,
        obeys_message_format: bool = False,
        listener: LogListener | None = None,
    ) -> Self:
        """Open the log in `directory`, which exists, mending what a crash has left.

        `recovery_point` and `log_start_offset` come from the data directory's checkpoints.
        `load_report` says what was mended. Raises OSError if the disk fails.
        """
        job = LoadJob(
            directory,
            config,
            now_ms,
            clean_shutdown,
            recovery_point,
            log_start_offset,
            producer_id_expiration_ms,
        )
        loader = Loader(FileCache(fs) if files is None else files, job)
        loader.load()
        return cls(
            loader,
            topic_partition,
            LogListener() if listener is None else listener,
            full_validation=full_validation,
            obeys_message_format=obeys_message_format,
        )

    def update_config(self, config: LogConfig) -> None:
        """Use other topic settings from now on."""
        if config is self.config or config == self.config:
            return
        self.config = config
        self.store.update_config(config)
        self.appender.update_config(config)

    def relocate(self, directory: str) -> None:
        """The log's directory has been renamed; no flush may be under way. Files stay open."""
        self.directory = directory
        self.epochs.relocate(directory)
        self.producers.relocate(directory)
        self.failures.relocate(directory)
        self.flusher.relocate(directory)
        self.store.relocate(directory)

    def take_over(self, other: "Log") -> None:
        """Stand in for another log of the partition that ends where this one does.

        What its records alone do not tell is taken from it: settings, offsets, epochs without
        records, producers whose records are gone, transactions that are being verified.
        """
        self.update_config(other.config)
        self.update_high_watermark(other.high_watermark)
        self.maybe_increment_log_start_offset(min(other.log_start_offset, self.high_watermark))
        for epoch, start_offset in other.epochs.entries():
            if epoch > self.epochs.latest_epoch:
                self.assign_epoch(epoch, start_offset)
        self.producers.take_over(other.producers)
        self.expire_producers_after(other.producer_id_expiration_ms)
        self.appender.take_over(other.appender)

    # --- offsets -----------------------------------------------------------------------

    @property
    def log_start_offset(self) -> int:
        """Nothing below is read any more."""
        return self.offsets.start

    @property
    def log_end_offset(self) -> int:
        """What the next record gets."""
        return self.offsets.end

    @property
    def high_watermark(self) -> int:
        """Everything below is replicated."""
        return self.offsets.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """Everything below is replicated, and its transactions are decided."""
        return self.offsets.last_stable

    @property
    def recovery_point(self) -> int:
        """Everything below is on the disk, fsynced."""
        return self.flusher.recovery_point

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, kept within the log's start and end; what it became."""
        return self.offsets.update_high_watermark(offset)

    def maybe_increment_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark to `offset`; False where that would not raise it."""
        return self.offsets.maybe_increment_high_watermark(offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Note where a leader epoch begins.

        While it has no record the entry stays in memory: an empty partition costs no file, and
        an epoch is assigned again when the log is led again.
        """
        if self.epochs.assign(epoch, start_offset):
            try:
                self.epochs.write(self.offsets.end)
            except OSError as error:
                self.failures.fail(error)

    # --- reading and appending ---------------------------------------------------------

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        bound: ReadBound = ReadBound.HIGH_WATERMARK,
        min_one_message: bool = True,
    ) -> ReadResult:
        """Find up to `max_bytes` from the batch that holds `offset` on, below `bound`.

        With `min_one_message` the first batch is whole, however large (KIP-74); without it the
        result says if not even that one is. Raises OffsetOutOfRange outside of log start and
        log end offset.
        """
        offsets = self.offsets
        if bound is _HIGH_WATERMARK:
            end = offsets.high_watermark
        else:
            end = offsets.last_stable if bound is _LAST_STABLE else offsets.end
        if offsets.start <= offset < end:
            with_aborted = bound is _LAST_STABLE
            return self.reader.read(offset, end, max_bytes, min_one_message, with_aborted)
        if not offsets.start <= offset <= offsets.end:
            raise OffsetOutOfRange(
                f"the log holds {offsets.start} to {offsets.end}",
                topic_partition=self.topic_partition,
                offset=offset,
            )
        return nothing(bound is _LAST_STABLE)

    def append_as_leader(
        self,
        buffer: bytearray | memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
        one_v2_batch: bool = False,
        allow_zstd: bool = True,
        verification_guard: VerificationGuard | None = None,
        at_once: bool = True,
        validated: ValidatedRecords | None = None,
    ) -> AppendInfo:
        """Give the batches the next offsets and write them; `buffer` is changed in place.

        `one_v2_batch` is the rule of Produce from version 3 on, `allow_zstd` that from 7 on;
        `verification_guard` is from `start_transaction_verification`; `transaction_version`
        matters to markers. Raises a StorageError that says which rule was broken, and where;
        then nothing was appended. LogDirectoryFailed means that the disk failed instead.

        Without `at_once` it raises TakesLong where the long way would be one of many records:
        `appender.validate_in_steps` then does what takes long of it, and its result goes in
        `validated`.
        """
        plain = self.appender.plain
        if origin is _CLIENT and plain.applies and validated is None:
            info = plain.append(buffer, leader_epoch, now_ms, allow_zstd)
            if info is not None:
                return info
        if not at_once and validated is None and takes_long(buffer):
            raise TakesLong
        return self.appender.append_set(
            buffer, leader_epoch, now_ms, origin, transaction_version, one_v2_batch,
            allow_zstd, verification_guard, validated,
        )  # fmt: skip

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> AppendInfo:
        """Write batches that a leader has validated, offsets and epochs as they are.

        A last batch that is cut short, as in an answer to a fetch, is left out. Raises
        CorruptBatch, OffsetsOutOfOrder or UnexpectedAppendOffset.
        """
        return self.appender.append_as_follower(buffer, now_ms)

    # --- segments ----------------------------------------------------------------------

    @property
    def active_segment(self) -> Segment:
        """The segment that appends go to."""
        return self.store.active

    @property
    def size_bytes(self) -> int:
        """Bytes of all the log's `.log` files."""
        return self.segments.size_bytes

    def roll(self, now_ms: int) -> Segment:
        """Close the active segment and go on in a new one, whose files exist from now on.

        The recovery point stays: a flush up to the new base offset is due.
        """
        return self.store.roll(self.offsets.end, now_ms)

    def delete_old_segments(self, count: int, now_ms: int) -> int:
        """Delete the `count` oldest segments (see `retention`): how many were.

        None is deleted that reaches above the high watermark. If all are, the log goes on in
        a new, empty segment; the log start offset follows.
        """
        return self.trimmer.delete_old_segments(count, now_ms)

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Let the log begin at `offset` (DeleteRecords); False if it begins there or later.

        Whole segments below go when `delete_old_segments` is next called. Raises
        OffsetOutOfRange above the high watermark.
        """
        return self.trimmer.maybe_increment_log_start_offset(offset)

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Drop everything from `offset` on, as a follower whose tail its leader lacks.

        A batch that reaches across `offset` goes as a whole. False if the log ended before.
        """
        return self.trimmer.truncate_to(offset, now_ms)

    def truncate_fully_and_start_at(
        self, offset: int, now_ms: int, *, log_start_offset: int | None = None
    ) -> None:
        """Drop every record; the next one will have `offset`.

        Raises OffsetOutOfRange unless that is one a log can end at.
        """
        self.trimmer.truncate_fully_and_start_at(offset, now_ms, log_start_offset)

    # --- producers ---------------------------------------------------------------------

    def producer_entries(self) -> list[ProducerEntry]:
        """What is known of every producer (DescribeProducers)."""
        return list(self.producers.producers.values())

    @property
    def producer_id_expiration_ms(self) -> int:
        """How long a producer may be silent before it is forgotten."""
        return self.trimmer.producer_id_expiration_ms

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Forget producers that have been silent for so long."""
        self.trimmer.producer_id_expiration_ms = expiration_ms

    def remove_expired_producers(self, now_ms: int) -> list[int]:
        """Forget idle producers (`producer.id.expiration.ms`): their ids."""
        expiration_ms = self.trimmer.producer_id_expiration_ms
        self.appender.verification.remove_expired(now_ms, expiration_ms)
        return self.producers.remove_expired(now_ms, expiration_ms)

    # --- the end -----------------------------------------------------------------------

    def flush(self, offset: int | None = None) -> None:
        """Make everything below `offset` (the log end) durable, waiting for it here."""
        self.flusher.flush(offset)

    def close(self) -> None:
        """Complete and save everything for a clean stop; the log is not to be used afterwards."""
        try:
            self.flusher.complete()
            self.flusher.flush()
        finally:
            self.close_files()

    def close_files(self) -> None:
        """Give up the descriptors and nothing else, as for a directory that has failed."""
        self.store.close_files()

    def lose_files(self) -> None:
        """Give up the descriptors for good: nothing is read or written from now on."""
        self.failures.lose_files()
