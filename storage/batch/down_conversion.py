"""Down-conversion for consumers that know only an older message format (Kafka's RecordsUtil).

What the older format cannot hold is left out: control batches and record headers. Offsets,
keys, values and tombstones stay; timestamps are lost in format 0; the codec is kept, except
that zstd has no place in formats 0 and 1. Batches already in an old enough format pass as
they are. Up-conversion happens on append (`rewriting`).
"""

from barnabas.storage.batch.compression import DEFAULT_LIMIT_BYTES, Codec
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader, Buffer, walk
from barnabas.storage.batch.legacy import MessageSet
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps, finished
from barnabas.storage.batch.unpacked import decode_in_steps
from barnabas.storage.errors import UnsupportedCodec


def down_convert(
    buffer: Buffer, to_magic: int, first_offset: int, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> bytes:
    """The buffer's whole batches in format `to_magic` (0 or 1) or older.

    Messages are single in the old formats, so an uncompressed batch loses the records before
    `first_offset`, where the consumer starts: some librdkafka versions count on it. Compressed
    batches keep them. A batch cut short at the end is left out. May return no bytes at all.
    Raises UnsupportedCodec for zstd, CorruptBatch for what cannot be read.
    """
    return finished(down_convert_in_steps(buffer, to_magic, first_offset, limit_bytes))


def down_convert_in_steps(
    buffer: Buffer, to_magic: int, first_offset: int, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Steps[bytes]:
    """The same as a generator that yields after every few records, and returns the bytes."""
    out = bytearray()
    view = memoryview(buffer)
    for header in walk(buffer, partial_tail=True):
        yield
        if header.is_control:
            continue
        if header.magic <= to_magic:
            out += view[header.position : header.end]
        else:
            yield from _convert_batch(out, buffer, header, to_magic, first_offset, limit_bytes)
    return bytes(out)


def _convert_batch(
    out: bytearray,
    buffer: Buffer,
    header: BatchHeader,
    to_magic: int,
    first_offset: int,
    limit_bytes: int,
) -> Steps[None]:
    if header.codec == Codec.ZSTD:
        raise UnsupportedCodec("zstd needs message format 2", offset=header.base_offset)
    append_time_ms = header.max_timestamp if header.is_log_append_time else None
    messages = MessageSet(to_magic, header.codec, append_time_ms)
    records = yield from decode_in_steps(buffer, header, limit_bytes)
    for number, record in enumerate(records):
        if header.codec or record.offset >= first_offset:
            messages.add(record)
        if number % RECORDS_OF_A_STEP == 0:
            yield
    out += yield from messages.finish_in_steps()


def needs_down_conversion(buffer: Buffer, to_magic: int) -> Steps[bool]:
    """Is any whole batch in a newer format than the consumer knows? In steps."""
    if to_magic < MAGIC_V2:
        for number, header in enumerate(walk(buffer, partial_tail=True)):
            if header.magic > to_magic:
                return True
            if number % RECORDS_OF_A_STEP == 0:
                yield
    return False
