"""A partition's producer state on disk, `<offset>.snapshot`: the state before that offset.

Big-endian: int16 version 1, uint32 CRC-32C of everything behind it, int32 count, then per
producer 46 bytes:

     0 producer id            int64    22 offset delta       int32
     8 epoch                  int16    26 timestamp, ms      int64
    10 last sequence          int32    34 coordinator epoch  int32
    14 last offset            int64    38 first offset of the open transaction, or -1, int64

Only the last batch of each producer is kept. Producers stand in the order in which Java's
HashMap iterates over them, so that the file equals the one Apache Kafka would write.
"""

from collections.abc import Iterable
from struct import Struct, error
from typing import Final

from barnabas.storage.batch.crc import crc32c
from barnabas.storage.errors import CorruptSnapshot
from barnabas.storage.producers.entry import ProducerEntry

VERSION: Final = 1
_HEADER: Final = Struct(">hIi")
_CRC_START: Final = 6
ENTRY: Final = Struct(">qhiqiqiq")
FIRST_TABLE_SIZE: Final = 16


def table_size(count: int, current: int = FIRST_TABLE_SIZE) -> int:
    """Buckets of a Java HashMap that has held `count` entries: it doubles above 3/4."""
    while count * 4 > current * 3:
        current *= 2
    return current


def _bucket(producer_id: int, buckets: int) -> int:
    code = (producer_id ^ (producer_id >> 32)) & 0xFFFFFFFF
    return (code ^ (code >> 16)) & (buckets - 1)


def build_snapshot(entries: Iterable[ProducerEntry], buckets: int = FIRST_TABLE_SIZE) -> bytes:
    """The content of a snapshot file; entries in the order in which they became known."""
    ordered = sorted(entries, key=lambda entry: _bucket(entry.producer_id, buckets))
    body = b"".join(
        ENTRY.pack(
            entry.producer_id, entry.epoch, entry.last_sequence, entry.last_data_offset,
            entry.last_offset_delta, entry.last_timestamp, entry.coordinator_epoch,
            entry.current_transaction_first_offset,
        )
        for entry in ordered
    )  # fmt: skip
    counted = len(ordered).to_bytes(4) + body
    return _HEADER.pack(VERSION, crc32c(counted), len(ordered)) + body


def parse_snapshot(data: bytes) -> list[ProducerEntry]:
    """The entries of a snapshot file; CorruptSnapshot if it is damaged."""
    try:
        version, crc, count = _HEADER.unpack_from(data)
    except error:
        raise CorruptSnapshot(f"{len(data)} bytes are too few for a snapshot") from None
    if version != VERSION:
        raise CorruptSnapshot(f"unknown snapshot version {version}")
    if len(data) != _HEADER.size + count * ENTRY.size:
        raise CorruptSnapshot(f"{len(data)} bytes do not hold {count} producers")
    if crc32c(data[_CRC_START:]) != crc:
        raise CorruptSnapshot("wrong CRC")
    return [_entry(fields) for fields in ENTRY.iter_unpack(data[_HEADER.size :])]


def _entry(fields: tuple[int, ...]) -> ProducerEntry:
    (
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp,
        coordinator_epoch, first_offset,
    ) = fields  # fmt: skip
    batches = []
    if last_offset >= 0:
        batches.append((last_sequence, last_offset, offset_delta, timestamp))
    return ProducerEntry(
        producer_id, epoch, coordinator_epoch, timestamp, max(first_offset, -1), batches
    )
