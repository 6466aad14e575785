"""Writing a format 2 batch again with fewer records, or with a delete horizon.

The records that stay are copied as they are, unless the base timestamp changes: it is the
first record's timestamp, or the delete horizon (KIP-534), and then only timestamp deltas are
written anew. Base and last offset stay what they were, so that sequences still add up.
Source: Kafka's MemoryRecords.buildRetainedRecordsInto, DefaultRecordBatch.writeEmptyHeader.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from barnabas.storage.batch.compression import Codec, compress
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import (
    CODEC_MASK,
    DELETE_HORIZON,
    HEADER,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_TIMESTAMP,
    V2_ATTRIBUTES_POSITION,
    V2_CRC_POSITION,
    V2_HEADER_BYTES,
    BatchHeader,
)
from barnabas.storage.batch.varint import append_varint, finish_varlong
from barnabas.storage.compaction.key_scan import ScannedRecords

_CRC: Final = Struct(">I")

Pieces = tuple[bytes | bytearray | memoryview, ...]
"""A batch as it will stand in the file, in one or more parts."""


def rewrite(
    header: BatchHeader,
    data: bytes,
    start: int,
    records: ScannedRecords,
    kept: Sequence[int],
    delete_horizon_ms: int | None,
) -> tuple[Pieces, int]:
    """The batch with only the `kept` records (numbers in rising order), and its max timestamp.

    `data` holds the uncompressed records from `start` on; `delete_horizon_ms` is the new or
    the old horizon, None for none.
    """
    times = _timestamps(header, data, records, kept)
    base_timestamp = times[0] if delete_horizon_ms is None else delete_horizon_ms
    payload: bytes | bytearray
    if base_timestamp == header.base_timestamp and not header.is_log_append_time:
        payload = _copy_runs(data, start, records.ends, kept)
    else:
        deltas = [timestamp - base_timestamp for timestamp in times]
        payload = _with_deltas(data, records, kept, deltas)
    attributes = header.attributes | (0 if delete_horizon_ms is None else DELETE_HORIZON)
    if header.codec:
        payload = compress(header.codec, payload)
    max_timestamp = header.max_timestamp if header.is_log_append_time else max(times)
    fields = (attributes, base_timestamp, max_timestamp, len(kept))
    return (_header(header, fields, payload), payload), max_timestamp


def empty_batch(header: BatchHeader) -> Pieces:
    """The batch without records, kept for the producer state it carries."""
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON) | Codec.NONE
    return (_header(header, (attributes, NO_TIMESTAMP, header.max_timestamp, 0), b""),)


def _header(
    old: BatchHeader, fields: tuple[int, int, int, int], payload: bytes | bytearray
) -> bytearray:
    attributes, base_timestamp, max_timestamp, count = fields
    size = V2_HEADER_BYTES - LOG_OVERHEAD + len(payload)
    header = bytearray(V2_HEADER_BYTES)
    HEADER.pack_into(
        header, 0, old.base_offset, size, old.partition_leader_epoch, MAGIC_V2, 0, attributes,
        old.last_offset_delta, base_timestamp, max_timestamp, old.producer_id,
        old.producer_epoch, old.base_sequence, count,
    )  # fmt: skip
    crc = crc32c(payload, crc32c(memoryview(header)[V2_ATTRIBUTES_POSITION:]))
    _CRC.pack_into(header, V2_CRC_POSITION, crc)
    return header


def _timestamps(
    header: BatchHeader, data: bytes, records: ScannedRecords, kept: Sequence[int]
) -> list[int]:
    """The timestamps readers see of the records that stay."""
    if header.is_log_append_time:
        return [header.max_timestamp] * len(kept)
    base, times = header.base_timestamp, records.times
    return [base + _read_varlong(data, times[number]) for number in kept]


def _read_varlong(data: bytes, position: int) -> int:
    first = data[position]
    if first < 0x80:
        return (first >> 1) ^ -(first & 1)
    return finish_varlong(data, position + 1, first)[0]


def _copy_runs(data: bytes, start: int, ends: Sequence[int], kept: Sequence[int]) -> bytes:
    """The bytes of the records that stay, neighbours in one piece."""
    runs = []
    first = previous = kept[0]
    for number in kept[1:]:
        if number != previous + 1:
            runs.append(data[ends[first - 1] if first else start : ends[previous]])
            first = number
        previous = number
    runs.append(data[ends[first - 1] if first else start : ends[previous]])
    return b"".join(runs)


def _with_deltas(
    data: bytes, records: ScannedRecords, kept: Sequence[int], deltas: Sequence[int]
) -> bytearray:
    """The records that stay with these timestamp deltas in place of their own."""
    out = bytearray()
    times, ends = records.times, records.ends
    for number, delta in zip(kept, deltas, strict=True):
        after = times[number]
        while data[after] >= 0x80:
            after += 1
        body = bytearray(1)
        append_varint(body, delta)
        body += data[after + 1 : ends[number]]
        append_varint(out, len(body))
        out += body
    return out
