"""Records of a batch of any format: the one place that chooses by magic."""

from collections.abc import Iterator

from barnabas.storage.batch.compression import DEFAULT_LIMIT_BYTES
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader, Buffer, walk
from barnabas.storage.batch.legacy import decode_legacy
from barnabas.storage.batch.records import Record, decode_v2
from barnabas.storage.errors import CorruptBatch


def decode_batch(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of one batch, absolute offsets and effective timestamps.

    Raises CorruptBatch (DecompressionTooLarge past `limit_bytes`) or UnsupportedCodec, both
    naming the batch's offset.
    """
    try:
        if header.magic == MAGIC_V2:
            yield from decode_v2(buffer, header, limit_bytes)
        else:
            yield from decode_legacy(buffer, header, limit_bytes)
    except CorruptBatch as error:
        error.located(offset=header.base_offset)
        raise


def decode_all(buffer: Buffer, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
    """The records of every batch in the buffer, control records included."""
    for header in walk(buffer):
        yield from decode_batch(buffer, header, limit_bytes)
