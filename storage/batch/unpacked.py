"""A batch's records, decompressed in a step of its own, for whoever serves others, too."""

from collections.abc import Iterator

from barnabas.storage.batch.compression import DEFAULT_LIMIT_BYTES
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader, Buffer
from barnabas.storage.batch.legacy import decode_inner, decode_legacy, inner_messages_in_steps
from barnabas.storage.batch.records import Record, decode_data, records_data_in_steps
from barnabas.storage.batch.steps import Steps


def decode_in_steps(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Steps[Iterator[Record]]:
    """What `records.decode_batch` gives; the iterator itself takes no steps."""
    if header.magic == MAGIC_V2:
        data = yield from records_data_in_steps(buffer, header, limit_bytes)
        return decode_data(data, header)
    if not header.codec:
        return decode_legacy(buffer, header, limit_bytes)
    data, inner = yield from inner_messages_in_steps(buffer, header, limit_bytes)
    return decode_inner(data, inner, header)
