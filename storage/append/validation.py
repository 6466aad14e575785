"""What must hold before batches are appended, and the assignment of their offsets.

The usual produce request (one format 2 batch, nothing set that needs its records) is a
straight line: header, CRC, counts, then the offset stamped in place. Everything else goes the
long way in `record_validation`. Rules and their order are those of Kafka's UnifiedLog
(analyzeAndValidateRecords) and LogValidator; what a CPython broker leaves out unless
`check_records` asks for it stands in docs/not-implemented.md.
"""

from typing import Final

from barnabas.storage.append.record_validation import validate_slowly
from barnabas.storage.append.rules import (
    AppendRules,
    ValidatedRecords,
    as_writable,
    check_client_batch,
    check_crc,
    check_sizes,
    true_max_timestamp,
)
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import (
    CODEC_MASK,
    CONTROL,
    LOG_APPEND_TIME,
    MAGIC_V2,
    MAX_OFFSET,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    crc_is_valid,
    parse_header,
    stamp,
    walk,
)
from barnabas.storage.batch.record_times import UNKNOWN_TIMESTAMP
from barnabas.storage.errors import CorruptBatch, OffsetsOutOfOrder, UnexpectedAppendOffset

_UNUSUAL: Final = LOG_APPEND_TIME | CONTROL


def validate_as_leader(
    buffer: Buffer,
    rules: AppendRules,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    from_client: bool = True,
    one_v2_batch: bool = False,
    allow_zstd: bool = True,
) -> ValidatedRecords:
    """Check what a producer or a coordinator wants to append, and give it its offsets.

    A writable buffer is stamped in place and handed back; one that is read-only, or has to be
    rewritten, is replaced. `one_v2_batch` is the rule of Produce v3 and up, `allow_zstd` that
    of v7 and up. Raises StorageError subclasses, each before anything changed in the log;
    the buffer may then be half stamped.
    """
    if not buffer:
        return validate_slowly(
            bytearray(), rules, next_offset, leader_epoch, now_ms, from_client, one_v2_batch, True
        )
    writable = as_writable(buffer)
    if from_client and not rules.needs_records:
        header = _usual_header(writable, allow_zstd)
        if header is not None:
            return _validate_usual(writable, header, rules, next_offset, leader_epoch, now_ms)
    return validate_slowly(
        writable, rules, next_offset, leader_epoch, now_ms, from_client, one_v2_batch, allow_zstd
    )


def _usual_header(buffer: bytearray | memoryview, allow_zstd: bool) -> BatchHeader | None:
    """The header if the buffer is one whole format 2 batch of the usual kind."""
    try:
        header = parse_header(buffer)
    except CorruptBatch:
        return None
    attributes = header.attributes
    codec = attributes & CODEC_MASK
    usual = (
        header.magic == MAGIC_V2
        and header.size_bytes == len(buffer)
        and not attributes & _UNUSUAL
        and (codec < Codec.ZSTD or (codec == Codec.ZSTD and allow_zstd))
    )
    return header if usual else None


def _validate_usual(
    buffer: bytearray | memoryview,
    header: BatchHeader,
    rules: AppendRules,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
) -> ValidatedRecords:
    check_sizes(header, rules)
    check_crc(buffer, header)
    check_client_batch(header)
    if rules.is_log_append_time:
        stamp(buffer, header, next_offset, leader_epoch, max_timestamp=now_ms, log_append_time=True)
        append_time_ms = now_ms
    else:
        max_timestamp = true_max_timestamp(buffer, header, rules, now_ms)
        if max_timestamp == UNKNOWN_TIMESTAMP:
            return validate_slowly(
                buffer, rules, next_offset, leader_epoch, now_ms, True, False, True
            )
        stamp(buffer, header, next_offset, leader_epoch, max_timestamp=max_timestamp)
        append_time_ms = NO_TIMESTAMP
    last_offset = next_offset + header.last_offset_delta
    return ValidatedRecords(
        buffer, [header], next_offset, last_offset, header.max_timestamp, last_offset,
        append_time_ms, False,
    )  # fmt: skip


def validate_as_follower(buffer: Buffer, log_end_offset: int) -> ValidatedRecords:
    """Check what a leader sent: whole batches, CRC, offsets that increase from the log's end.

    A batch cut short at the end is left out. Raises CorruptBatch, OffsetsOutOfOrder or
    UnexpectedAppendOffset.
    """
    headers: list[BatchHeader] = []
    last_offset = max_timestamp = offset_of_max_timestamp = -1
    for header in walk(buffer, partial_tail=True):
        if not crc_is_valid(buffer, header):
            raise CorruptBatch("the CRC does not match", offset=header.base_offset)
        if header.base_offset <= last_offset:
            raise OffsetsOutOfOrder(
                f"batch follows one that ends at {last_offset}", offset=header.base_offset
            )
        last_offset = header.last_offset
        if last_offset > MAX_OFFSET:
            raise CorruptBatch("no record has such an offset", offset=header.base_offset)
        if header.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max_timestamp = header.max_timestamp, last_offset
        headers.append(header)
    first_offset = headers[0].base_offset if headers else -1
    if headers and first_offset < log_end_offset:
        raise UnexpectedAppendOffset(
            f"batch starts before the log's end {log_end_offset}", offset=first_offset
        )
    valid = memoryview(buffer)[: headers[-1].end if headers else 0]
    return ValidatedRecords(
        valid, headers, first_offset, last_offset, max_timestamp, offset_of_max_timestamp,
        NO_TIMESTAMP, False,
    )  # fmt: skip
