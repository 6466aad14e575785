"""From a log to what compaction must know of it: is it worth it, how far, with what."""

from barnabas.storage.compaction.job import CompactionJob, LastRecord, SourceSegment
from barnabas.storage.compaction.plan import (
    Candidate,
    DirtySegment,
    first_dirty_offset,
    first_uncleanable_offset,
    is_overdue,
)
from barnabas.storage.log_config import FOREVER, LogManagerConfig
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction


def candidate_of(log: ManagedLog, now_ms: int) -> Candidate:
    """How far a log could be compacted, and how dirty it is; raises a StorageError."""
    config = log.config
    active_base = log.active_segment.base_offset
    first_dirty = first_dirty_offset(
        log.data_directory.clean_offsets.get(log.partition),
        log.log_start_offset,
        log.log_end_offset,
    )
    closed = list(log.segments)[:-1]
    dirty = [
        each
        for each in log.segments.between(first_dirty, active_base)
        if each is not log.active_segment
    ]
    ages = _ages(log, dirty)
    stop = first_uncleanable_offset(
        ages,
        first_dirty,
        # What a power cut may still take must not be the reason why an earlier record goes.
        min(log.last_stable_offset, log.flusher.sure_offset()),
        active_base,
        config.min_compaction_lag_ms,
        now_ms,
    )
    reached = log.segments.floor(stop)
    stop = active_base if reached is None else reached.base_offset
    return Candidate(
        log.partition,
        first_dirty,
        stop,
        sum(each.size_bytes for each in closed if each.base_offset < first_dirty),
        sum(each.size_bytes for each in dirty if each.base_offset < stop),
        config.min_cleanable_dirty_ratio,
        is_overdue(ages, config.max_compaction_lag_ms, now_ms),
    )


def _ages(log: ManagedLog, dirty: list[Segment]) -> list[DirtySegment]:
    """How old segments are, if any setting asks for it: it takes a look into each of them."""
    config = log.config
    if config.min_compaction_lag_ms <= 0 and config.max_compaction_lag_ms >= FOREVER:
        return []
    return [
        DirtySegment(each.base_offset, log.first_timestamp_of(each), log.age_of(each))
        for each in dirty
    ]


def job_of(
    log: ManagedLog, chosen: Candidate, config: LogManagerConfig, now_ms: int
) -> tuple[CompactionJob, dict[int, Segment]]:
    """The job for a chosen log, and the segments it will read by their base offsets."""
    stop = chosen.first_uncleanable_offset
    segments = [each for each in log.segments if each.base_offset < stop]
    bases = [each.base_offset for each in segments] + [stop]
    job = CompactionJob(
        topic_partition=log.topic_partition,
        directory=log.directory,
        config=log.config,
        segments=[
            SourceSegment(segment.base_offset, following, segment.size_bytes)
            for segment, following in zip(segments, bases[1:], strict=True)
        ],
        first_dirty_offset=chosen.first_dirty_offset,
        high_watermark=log.high_watermark,
        now_ms=now_ms,
        generation=log.store.generation,
        aborted=_aborted(log, stop, now_ms),
        last_records={
            producer_id: LastRecord(entry.last_data_offset, entry.epoch)
            for producer_id, entry in log.producers.producers.items()
        },
        dedupe_buffer_bytes=config.cleaner_dedupe_buffer_bytes // config.cleaner_threads,
        load_factor=config.cleaner_load_factor,
        io_bytes_per_second=config.cleaner_io_bytes_per_second / config.cleaner_threads,
        open_files=config.cleaner_open_files,
        read_bytes=config.cleaner_read_bytes,
        write_bytes=config.cleaner_write_bytes,
    )
    return job, {each.base_offset: each for each in segments}


def _aborted(log: ManagedLog, stop: int, now_ms: int) -> list[AbortedTransaction]:
    """Aborted transactions that have records before `stop`; a marker may lie behind it."""
    return [
        entry
        for segment in log.segments
        for entry in log.aborted_in(segment, now_ms)
        if entry.first_offset < stop
    ]
