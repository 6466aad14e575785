"""Is a batch sound by itself: its CRC, its header, its records."""

from barnabas.storage.batch.control_records import parse_control
from barnabas.storage.batch.header import MAGIC_V2, NO_TIMESTAMP, BatchHeader, crc_is_valid
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.errors import StorageError


def batch_problem(chunk: bytes, header: BatchHeader, *, shallow: bool) -> str | None:
    """What is wrong with a batch, None if nothing is; `shallow` does not look at records."""
    if not crc_is_valid(chunk, header):
        return "the batch does not have the CRC of its bytes"
    if header.magic == MAGIC_V2 and header.record_count > header.last_offset_delta + 1:
        return f"{header.record_count} records have {header.last_offset_delta + 1} offsets"
    if shallow:
        return None
    try:
        return _records_problem(list(decode_batch(chunk, header)), header)
    except StorageError as error:
        return error.reason


def _records_problem(records: list[Record], header: BatchHeader) -> str | None:
    previous = header.base_offset - 1 if header.magic == MAGIC_V2 else -1
    for record in records:
        if record.offset <= previous:
            return f"record offset {record.offset} does not follow on {previous}"
        previous = record.offset
        if header.is_control:
            parse_control(record)
    if records and previous > header.last_offset:
        return f"record offset {previous} is above the batch's last offset {header.last_offset}"
    return _timestamp_problem(records, header)


def _timestamp_problem(records: list[Record], header: BatchHeader) -> str | None:
    """Kafka's validator begins at -1: where all records are from before 1970 that stays."""
    largest = max((record.timestamp for record in records), default=header.max_timestamp)
    if header.max_timestamp not in (largest, max(largest, NO_TIMESTAMP)):
        return f"the header's max timestamp is {header.max_timestamp}, the records' {largest}"
    return None


def order_problem(header: BatchHeader, next_offset: int, segment_base: int) -> str | None:
    """What is wrong with where a batch stands: offsets rise, none is below its segment's base."""
    first = header.base_offset
    if first < segment_base:
        return f"offset {first} is below the segment's base offset {segment_base}"
    if first < next_offset:
        return f"offset {first} does not come after {next_offset - 1}"
    return None


def trailing_problem(rest: bytes, left: int, reason: str) -> str:
    """Why the `left` bytes at the end of a segment, beginning with `rest`, are no batch."""
    if not any(rest):
        return f"{left} bytes at the end are zeros"
    return f"{left} bytes at the end are no whole batch: {reason}"
