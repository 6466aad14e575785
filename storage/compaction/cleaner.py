"""One compaction of one partition: two passes over closed segments, new segments beside them.

The first pass notes the last offset of every key in the dirty part; the second goes over
everything from the start of the log and writes what is left, several small segments into one.
Nothing of the log itself is touched: the caller swaps each finished group in, and throws it
away if the log changed meanwhile. Source: Kafka's Cleaner.

Runs in a child process (`compaction_process`): this is Python at full speed for as long as
the log is big.
"""

from collections.abc import Iterator, Sequence
from os import stat_result

from barnabas.storage.batch.header import MAGIC_V2, BatchHeader
from barnabas.storage.batch.legacy import decode_legacy
from barnabas.storage.batch.reader import FoundBatch, read_batches
from barnabas.storage.compaction.batch_filter import (
    BatchFilter,
    check_crc,
    control_type_of,
    scan_batch,
)
from barnabas.storage.compaction.cleaned_segment import CleanedSegment, Extent
from barnabas.storage.compaction.cleaned_transactions import CleanedTransactions
from barnabas.storage.compaction.job import (
    CompactedGroup,
    CompactionDone,
    CompactionJob,
    SourceSegment,
)
from barnabas.storage.compaction.offset_map import OffsetMap
from barnabas.storage.disk.fs import READ, FileSystem
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.file_names import INDEX, LOG, TIME_INDEX, segment_path
from barnabas.storage.segment.transaction_index import AbortedTransaction


def compact(fs: FileSystem, job: CompactionJob) -> Iterator[CompactedGroup | CompactionDone]:
    """Carry out a job, group by group; raises CorruptBatch or OSError."""
    return Compaction(fs, job).run()


class Compaction:
    """The state of one compaction."""

    def __init__(self, fs: FileSystem, job: CompactionJob) -> None:
        self._fs = fs
        self._job = job
        self._read_bytes = 0
        self._cleaned: CleanedSegment | None = None

    def run(self) -> Iterator[CompactedGroup | CompactionDone]:
        """Both passes."""
        offset_map = self._build_map()
        clean_offset = offset_map.latest_offset + 1
        batch_filter = self._filter(offset_map)
        legacy_horizon_ns = self._legacy_horizon_ns()
        written = 0
        for group in self._groups(clean_offset):
            cleaned = self._clean_group(group, batch_filter, legacy_horizon_ns)
            written += cleaned.size_bytes
            yield CompactedGroup(group[0].base_offset, group, *cleaned)
        yield CompactionDone(clean_offset, self._read_bytes, written, len(offset_map))

    # --- first pass --------------------------------------------------------------------

    def _build_map(self) -> OffsetMap:
        """The last offset of each key from the first dirty offset on, as far as memory goes."""
        job = self._job
        start = job.first_dirty_offset
        dirty = [source for source in job.segments if source.next_offset > start]
        most_records = sum(source.next_offset - max(source.base_offset, start) for source in dirty)
        offset_map = OffsetMap(job.dedupe_buffer_bytes, job.load_factor, most_records)
        offset_map.raise_latest_offset(start - 1)
        transactions = CleanedTransactions(lambda transaction: None)
        transactions.expect(entry for entry in job.aborted if entry.last_offset >= start)
        for source in dirty:
            if not self._map_segment(source, offset_map, transactions):
                break
            offset_map.raise_latest_offset(source.next_offset - 1)
        return offset_map

    def _map_segment(
        self, source: SourceSegment, offset_map: OffsetMap, transactions: CleanedTransactions
    ) -> bool:
        """Note the keys of a segment; False once the map is full."""
        start = self._job.first_dirty_offset
        for _, header, chunk in self._batches(source):
            if header.last_offset < start:
                continue
            check_crc(chunk, header)
            if header.is_control:
                transactions.is_marker_needless(
                    header.producer_id, header.last_offset, control_type_of(chunk, header)
                )
            elif not (
                header.is_transactional
                and transactions.is_aborted(header.producer_id, header.last_offset)
            ):
                keys, deltas, base_offset = _keys_of(chunk, header)
                if not offset_map.put_all(keys, deltas, base_offset, start):
                    return False
            offset_map.raise_latest_offset(header.last_offset)
        return True

    # --- second pass -------------------------------------------------------------------

    def _filter(self, offset_map: OffsetMap) -> BatchFilter:
        job = self._job
        transactions = CleanedTransactions(self._keep_aborted)
        transactions.expect(job.aborted)
        return BatchFilter(
            offset_map,
            transactions,
            job.last_records,
            high_watermark=job.high_watermark,
            now_ms=job.now_ms,
            delete_retention_ms=job.config.delete_retention_ms,
        )

    def _keep_aborted(self, transaction: AbortedTransaction) -> None:
        if self._cleaned is not None:
            self._cleaned.keep_aborted(transaction)

    def _clean_group(
        self, group: Sequence[SourceSegment], batch_filter: BatchFilter, legacy_horizon_ns: int
    ) -> Extent:
        """Write what is left of some segments to a new one: what it holds, read back."""
        job = self._job
        cleaned = CleanedSegment(self._fs, job, group[0].base_offset)
        self._cleaned = cleaned
        for source in group:
            modified_ns = self._stat(source, LOG).st_mtime_ns
            batch_filter.keep_legacy_tombstones = modified_ns > legacy_horizon_ns
            for _, header, chunk in self._batches(source):
                left = batch_filter.filter(chunk, header)
                if left is not None:
                    cleaned.append(left)
        return cleaned.finish(self._stat(group[-1], LOG).st_mtime_ns)

    def _groups(self, end_offset: int) -> Iterator[list[SourceSegment]]:
        """Neighbouring segments that fit one new segment by size, indexes and offset range."""
        group: list[SourceSegment] = []
        used = [0, 0, 0]
        config, most = self._job.config, self._job.most_relative_offset
        limits = (config.segment_bytes, config.segment_index_bytes, config.segment_index_bytes)
        for source in self._job.segments:
            if source.base_offset >= end_offset:
                break
            sizes = [source.size_bytes, self._index_bytes(source, INDEX)]
            sizes.append(self._index_bytes(source, TIME_INDEX))
            added = [have + more for have, more in zip(used, sizes, strict=True)]
            fits = all(size <= limit for size, limit in zip(added, limits, strict=True))
            if group and not (fits and _in_range(group[0], source, most)):
                yield group
                group, added = [], sizes
            group.append(source)
            used = added
        if group:
            yield group

    def _index_bytes(self, source: SourceSegment, extension: str) -> int:
        try:
            return self._stat(source, extension).st_size
        except FileNotFoundError:
            return 0

    def _legacy_horizon_ns(self) -> int:
        """Tombstones of formats 0 and 1 go from files not modified since this time."""
        clean = [
            source
            for source in self._job.segments
            if source.base_offset < self._job.first_dirty_offset
        ]
        if not clean:
            return 0
        retention_ns = self._job.config.delete_retention_ms * 1_000_000
        return self._stat(clean[-1], LOG).st_mtime_ns - retention_ns

    # --- files -------------------------------------------------------------------------

    def _stat(self, source: SourceSegment, extension: str) -> stat_result:
        return self._fs.stat(segment_path(self._job.directory, source.base_offset, extension))

    def _batches(self, source: SourceSegment) -> Iterator[FoundBatch]:
        """The batches of a source, which is open for only as long as they are asked for."""
        self._read_bytes += source.size_bytes
        fs, chunk_bytes = self._fs, self._job.read_bytes
        path = segment_path(self._job.directory, source.base_offset, LOG)
        file = OpenFile(fs, fs.open(path, READ, 0))
        yield from read_batches(file, 0, source.size_bytes, chunk_bytes)


def _keys_of(
    chunk: bytes, header: BatchHeader
) -> tuple[Sequence[bytes | None], Sequence[int], int]:
    """Keys, offset deltas and base offset of a data batch."""
    if header.magic == MAGIC_V2:
        records = scan_batch(chunk, header)[2]
        return records.keys, records.deltas, header.base_offset
    old = list(decode_legacy(chunk, header))
    base_offset = old[0].offset
    return [each.key for each in old], [each.offset - base_offset for each in old], base_offset


def _in_range(first: SourceSegment, source: SourceSegment, most_relative_offset: int) -> bool:
    """Do the offsets of a group that ends with this segment fit the indexes' four bytes?"""
    return not source.size_bytes or (
        source.next_offset - 1 - first.base_offset <= most_relative_offset
    )
