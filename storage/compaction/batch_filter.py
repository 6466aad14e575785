"""What compaction leaves of each batch: all of it, some records, an empty shell, or nothing.

A record stays if it is the last of its key, or lies behind what the offset map covers. A
tombstone (null value) is the last of its key too, but goes once its batch's delete horizon
has passed; the first pass that meets it sets the horizon. Records of aborted transactions go
at once; markers stay as long as data of their transaction does, then get a horizon as
tombstones do. A batch that holds its producer's last sequence, or ends at the high watermark,
stays as an empty shell. Source: Kafka's Cleaner, MemoryRecords.filterTo (KIP-98, KIP-534).
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.storage.batch.compression import decompress
from barnabas.storage.batch.header import MAGIC_V2, V2_HEADER_BYTES, BatchHeader, crc_is_valid
from barnabas.storage.batch.legacy import build_message_set, decode_legacy
from barnabas.storage.compaction.cleaned_transactions import CleanedTransactions
from barnabas.storage.compaction.job import LastRecord
from barnabas.storage.compaction.key_scan import ScannedRecords, scan_records
from barnabas.storage.compaction.offset_map import OffsetMap
from barnabas.storage.compaction.retained_records import Pieces, empty_batch, rewrite
from barnabas.storage.errors import CorruptBatch


class FilteredBatch(NamedTuple):
    """What is left of a batch, and what the indexes must know of it."""

    pieces: Pieces
    last_offset: int
    max_timestamp: int
    record_count: int
    """A message of formats 0 and 1 counts as one, whatever it wraps."""


def open_records(chunk: bytes, header: BatchHeader) -> tuple[bytes, int, int]:
    """A format 2 batch's plain record bytes: the data, where they begin, where they end."""
    start = header.position + V2_HEADER_BYTES
    if not header.codec:
        return chunk, start, header.end
    data = decompress(header.codec, memoryview(chunk)[start : header.end])
    return data, 0, len(data)


def scan_batch(chunk: bytes, header: BatchHeader) -> tuple[bytes, int, ScannedRecords]:
    """A format 2 batch's plain record bytes, where they begin, and what lies where."""
    data, start, end = open_records(chunk, header)
    return data, start, scan_records(data, start, end, header.record_count)


def check_crc(chunk: bytes, header: BatchHeader) -> None:
    """Raise CorruptBatch for a batch that does not carry its CRC: it must not get a new one."""
    if not crc_is_valid(chunk, header):
        raise CorruptBatch("a batch's CRC is wrong", offset=header.base_offset)


def control_type_of(chunk: bytes, header: BatchHeader) -> int | None:
    """The type of a control batch, None for one that was emptied."""
    if not header.record_count:
        return None
    key = scan_batch(chunk, header)[2].keys[0]
    return int.from_bytes(key[2:4], "big") if key else None


class BatchFilter:
    """Applies the rules above to batches in offset order."""

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactions,
        last_records: Mapping[int, LastRecord],
        *,
        high_watermark: int,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._map = offset_map
        self._transactions = transactions
        self._last_records = last_records
        self._high_watermark = high_watermark
        self._now_ms = now_ms
        self._new_horizon_ms = now_ms + delete_retention_ms
        self.keep_legacy_tombstones = True
        """Set for each segment: formats 0 and 1 know no delete horizon, the file's age counts."""

    def filter(self, chunk: bytes, header: BatchHeader) -> FilteredBatch | None:
        """What is left of a batch; raises CorruptBatch for one that is damaged."""
        check_crc(chunk, header)
        if header.magic < MAGIC_V2:
            return self._filter_legacy(chunk, header)
        if header.is_control:
            return self._filter_control(chunk, header)
        if header.is_transactional and self._transactions.is_aborted(
            header.producer_id, header.last_offset
        ):
            return self._shell(header)
        return self._filter_data(chunk, header)

    def _filter_control(self, chunk: bytes, header: BatchHeader) -> FilteredBatch | None:
        control_type = control_type_of(chunk, header)
        is_needless = self._transactions.is_marker_needless(
            header.producer_id, header.last_offset, control_type
        )
        horizon_ms = header.delete_horizon_ms
        has_expired = is_needless and horizon_ms is not None and horizon_ms <= self._now_ms
        if has_expired or not header.record_count:
            return self._shell(header)
        if is_needless and horizon_ms is None:
            data, start, records = scan_batch(chunk, header)
            return self._rewritten(header, data, start, records, range(header.record_count), True)
        return _whole(chunk, header)

    def _filter_data(self, chunk: bytes, header: BatchHeader) -> FilteredBatch | None:
        if not header.record_count:
            return self._shell(header)
        data, start, records = scan_batch(chunk, header)
        kept = self._kept(header, records)
        if not kept:
            return self._shell(header)
        needs_horizon = (
            bool(records.tombstones)
            and header.delete_horizon_ms is None
            and not set(records.tombstones).isdisjoint(kept)
        )
        if len(kept) == header.record_count and not needs_horizon:
            return _whole(chunk, header)
        return self._rewritten(header, data, start, records, kept, needs_horizon)

    def _kept(self, header: BatchHeader, records: ScannedRecords) -> list[int] | range:
        base, latest = header.base_offset, self._map.latest_offset
        if base > latest:
            return range(header.record_count)
        last_offsets = self._map.last_offsets(records.keys)
        kept: list[int] | range
        if max(last_offsets) <= base:
            kept = range(header.record_count)
        else:
            kept = [
                number
                for number, (delta, last) in enumerate(
                    zip(records.deltas, last_offsets, strict=True)
                )
                if base + delta >= last or base + delta > latest
            ]
        horizon_ms = header.delete_horizon_ms
        if records.tombstones and horizon_ms is not None and horizon_ms <= self._now_ms:
            gone = {
                number for number in records.tombstones if base + records.deltas[number] <= latest
            }
            kept = [number for number in kept if number not in gone]
        return kept

    def _rewritten(
        self,
        header: BatchHeader,
        data: bytes,
        start: int,
        records: ScannedRecords,
        kept: list[int] | range,
        needs_horizon: bool,
    ) -> FilteredBatch:
        horizon_ms = self._new_horizon_ms if needs_horizon else header.delete_horizon_ms
        pieces, max_timestamp = rewrite(header, data, start, records, kept, horizon_ms)
        return FilteredBatch(pieces, header.last_offset, max_timestamp, len(kept))

    def _shell(self, header: BatchHeader) -> FilteredBatch | None:
        """An empty batch if this one must leave a trace, else nothing."""
        if self._is_last_of_producer(header) or header.next_offset == self._high_watermark:
            return FilteredBatch(empty_batch(header), header.last_offset, header.max_timestamp, 0)
        return None

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        last = self._last_records.get(header.producer_id)
        if last is None:
            return False
        if last.data_offset >= 0:
            return last.data_offset == header.last_offset
        return header.is_control and header.producer_epoch == last.epoch

    def _filter_legacy(self, chunk: bytes, header: BatchHeader) -> FilteredBatch | None:
        records = list(decode_legacy(chunk, header))
        latest = self._map.latest_offset
        last_offsets = self._map.last_offsets([record.key for record in records])
        kept = [
            record
            for record, last in zip(records, last_offsets, strict=True)
            if record.offset > latest
            or (record.offset >= last and (record.value is not None or self.keep_legacy_tombstones))
        ]
        if not kept:
            return None
        max_timestamp = max(record.timestamp for record in kept)
        if len(kept) == len(records):
            return FilteredBatch(_whole(chunk, header).pieces, kept[-1].offset, max_timestamp, 1)
        append_time_ms = header.base_timestamp if header.is_log_append_time else None
        data = build_message_set(
            kept, header.magic, codec=header.codec, log_append_time_ms=append_time_ms
        )
        return FilteredBatch((data,), kept[-1].offset, max_timestamp, 1)


def _whole(chunk: bytes, header: BatchHeader) -> FilteredBatch:
    pieces = (memoryview(chunk)[header.position : header.end],)
    return FilteredBatch(pieces, header.last_offset, header.max_timestamp, header.record_count)
