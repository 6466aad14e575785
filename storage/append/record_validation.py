"""Validation the long way: several or unusual batches, record checks, rewriting.

Offsets are assigned in place where codec and format stay as they are; otherwise the records
are written anew as one batch (or message set). Format 0 with compression is always rewritten,
because its inner offsets are absolute, and so are batches whose inner offsets do not count
from 0: some old clients send them (Kafka's LogValidator).
"""

from barnabas.storage.append.rebuilding import rewrite_in_steps
from barnabas.storage.append.record_survey import Survey, survey_in_steps
from barnabas.storage.append.rules import (
    FOREVER_MS,
    UNLIMITED_RECORD_BYTES,
    AppendRules,
    ValidatedRecords,
    as_writable,
    check_client_batch,
    check_crc,
    check_sizes,
    check_target_format,
    true_max_timestamp,
)
from barnabas.storage.batch.compression import Codec, codec_of
from barnabas.storage.batch.header import (
    MAGIC_V0,
    MAGIC_V2,
    NO_TIMESTAMP,
    V2_HEADER_BYTES,
    BatchHeader,
    stamp,
    walk,
)
from barnabas.storage.batch.legacy import least_converted_bytes, stamp_legacy
from barnabas.storage.batch.record_times import UNKNOWN_TIMESTAMP
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps, finished
from barnabas.storage.errors import (
    DecompressionTooLarge,
    InvalidRecord,
    MixedFormats,
    RecordListTooLarge,
    RecordTooLarge,
    UnsupportedCodec,
)


def validate_slowly(
    buffer: bytearray | memoryview,
    rules: AppendRules,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    from_client: bool,
    one_v2_batch: bool,
    allow_zstd: bool,
) -> ValidatedRecords:
    """As `validation.validate_as_leader`, for whatever its straight line does not take."""
    return finished(
        validate_in_steps(
            buffer, rules, next_offset, leader_epoch, now_ms, from_client, one_v2_batch, allow_zstd
        )
    )


def validate_in_steps(
    buffer: bytearray | memoryview,
    rules: AppendRules,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    from_client: bool,
    one_v2_batch: bool,
    allow_zstd: bool,
) -> Steps[ValidatedRecords]:
    """The same in steps, each a few records' work."""
    headers = yield from _walk_all(buffer, rules, one_v2_batch)
    if one_v2_batch:
        _check_request(headers, allow_zstd)
    if not headers:
        return ValidatedRecords(b"", [], -1, -1, NO_TIMESTAMP, -1, NO_TIMESTAMP, False)
    source_codec = yield from _check_bytes(buffer, headers, rules)
    target_codec = source_codec if rules.codec is None else codec_of(rules.codec)
    in_place = _may_stay(headers[0], rules, source_codec, target_codec)
    survey = None
    max_timestamp = UNKNOWN_TIMESTAMP
    if in_place:
        max_timestamp = _known_max_timestamp(buffer, headers[0], rules, now_ms)
    if max_timestamp != UNKNOWN_TIMESTAMP:
        _check_header(headers[0], headers[0], rules, from_client)
    else:
        survey = yield from _survey(buffer, headers, rules, now_ms, from_client)
        max_timestamp = survey.max_timestamp
        in_place = in_place and survey.offsets_count_from_0
    if in_place:
        yield from _assign_offsets(
            buffer, headers, rules, next_offset, leader_epoch, now_ms, survey, max_timestamp
        )
    else:
        assert survey is not None
        buffer = yield from rewrite_in_steps(
            headers[0], survey, rules, target_codec, next_offset, leader_epoch, now_ms
        )
        headers = yield from _walk_all(buffer, rules, False)
    return _finish(buffer, headers, rules, next_offset, now_ms, not in_place)


def can_move(valid: ValidatedRecords) -> bool:
    """Whether `moved` can do it: inner offsets of format 0 are absolute, and compressed."""
    return not any(header.magic == MAGIC_V0 and header.codec for header in valid.headers[:1])


def moved(valid: ValidatedRecords, next_offset: int, leader_epoch: int) -> ValidatedRecords:
    """What was validated from offset 0 on, while others may have appended: where it goes now."""
    buffer = as_writable(valid.buffer)
    for header in valid.headers:
        if header.magic == MAGIC_V2:
            stamp(buffer, header, header.base_offset + next_offset, leader_epoch)
        else:
            stamp_legacy(buffer, header, header.base_offset + next_offset)
    if not valid.headers:
        return valid
    return ValidatedRecords(
        buffer, valid.headers, next_offset, valid.last_offset + next_offset, valid.max_timestamp,
        valid.offset_of_max_timestamp + next_offset, valid.log_append_time_ms, valid.was_rewritten,
    )  # fmt: skip


def _walk_all(
    buffer: bytearray | memoryview, rules: AppendRules, one_v2_batch: bool
) -> Steps[list[BatchHeader]]:
    """The batches' headers; no more of those that cannot fit into one batch.

    Kafka drops what is cut short at the end and then misses a batch, or not. From old requests,
    where nothing would be missed, it is refused here as corrupt.
    """
    headers: list[BatchHeader] = []
    becomes_plain_v2 = rules.magic == MAGIC_V2 and not rules.codec
    least_bytes = V2_HEADER_BYTES
    for header in walk(buffer, partial_tail=one_v2_batch):
        headers.append(header)
        if becomes_plain_v2 and header.magic < MAGIC_V2 and not header.codec:
            least_bytes += least_converted_bytes(header)
            if least_bytes > rules.max_message_bytes:
                raise RecordTooLarge(
                    f"the messages make a batch above max.message.bytes {rules.max_message_bytes}"
                )
        if len(headers) % RECORDS_OF_A_STEP == 0:
            yield
    return headers


def _check_request(headers: list[BatchHeader], allow_zstd: bool) -> None:
    """Produce v3 and up: exactly one batch of format 2 (Kafka's ProduceRequest)."""
    if not headers:
        raise InvalidRecord("a produce request must hold a whole record batch")
    if headers[0].magic != MAGIC_V2:
        raise InvalidRecord(f"a produce request must hold format 2, not {headers[0].magic}")
    if headers[0].codec == Codec.ZSTD and not allow_zstd:
        raise UnsupportedCodec("zstd needs Produce version 7 or above")
    if len(headers) > 1:
        raise InvalidRecord("a produce request must hold exactly one record batch")


def _check_bytes(
    buffer: bytearray | memoryview, headers: list[BatchHeader], rules: AppendRules
) -> Steps[Codec]:
    """Sizes and CRCs; the codec is that of the last compressed batch, as in Kafka."""
    source_codec = Codec.NONE
    for number, header in enumerate(headers):
        if number % RECORDS_OF_A_STEP == 1:
            yield
        check_sizes(header, rules)
        check_crc(buffer, header)
        source_codec = codec_of(header.codec) or source_codec
    if len(headers) > 1 and (headers[0].magic == MAGIC_V2 or source_codec):
        raise InvalidRecord("compressed or format 2 records must come as one batch")
    return source_codec


def _check_header(
    header: BatchHeader, first: BatchHeader, rules: AppendRules, from_client: bool
) -> None:
    if header.magic != first.magic:
        raise MixedFormats(f"formats {first.magic} and {header.magic} in one request")
    if from_client and header.magic == MAGIC_V2:
        check_client_batch(header)
    check_target_format(header, rules)


def _may_stay(first: BatchHeader, rules: AppendRules, source: Codec, target: Codec) -> bool:
    """May the bytes stay as they are but for offsets and timestamps?"""
    if first.magic != rules.magic:
        return False
    if first.is_control and source == Codec.NONE:
        return True  # the broker's own markers are never compressed
    return source == target and not (first.magic == MAGIC_V0 and source)


def _known_max_timestamp(
    buffer: bytearray | memoryview, first: BatchHeader, rules: AppendRules, now_ms: int
) -> int:
    """The largest timestamp where nothing else asks for a look at every record, else unknown.

    Formats 0 and 1 are always looked into: their messages carry the timestamps. So is what says
    LogAppendTime of itself, which no producer may.
    """
    if first.is_control:
        return first.max_timestamp
    if first.magic < MAGIC_V2 or rules.check_records or rules.is_compacted:
        return UNKNOWN_TIMESTAMP
    if first.is_log_append_time:
        return UNKNOWN_TIMESTAMP
    if rules.is_log_append_time:
        return now_ms
    if rules.timestamp_before_max_ms < FOREVER_MS:
        return UNKNOWN_TIMESTAMP
    if first.codec and rules.most_decompressed_record_bytes < UNLIMITED_RECORD_BYTES:
        return UNKNOWN_TIMESTAMP
    return true_max_timestamp(buffer, first, rules, now_ms)


def _survey(
    buffer: bytearray | memoryview,
    headers: list[BatchHeader],
    rules: AppendRules,
    now_ms: int,
    from_client: bool,
) -> Steps[Survey]:
    """Look into all records, batch by batch: the first one that is wrong is named."""
    survey = Survey(rules, now_ms)
    try:
        for number, header in enumerate(headers):
            if number % RECORDS_OF_A_STEP == RECORDS_OF_A_STEP - 1:
                yield
            _check_header(header, headers[0], rules, from_client)
            yield from survey_in_steps(survey, buffer, header)
    except DecompressionTooLarge as error:
        raise RecordTooLarge(error.reason) from None
    return survey


def _assign_offsets(
    buffer: bytearray | memoryview,
    headers: list[BatchHeader],
    rules: AppendRules,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    survey: Survey | None,
    max_timestamp: int,
) -> Steps[None]:
    append_time = rules.is_log_append_time
    is_alone = len(headers) == 1
    for number, header in enumerate(headers):
        if number % RECORDS_OF_A_STEP == RECORDS_OF_A_STEP - 1:
            yield
        if append_time:
            max_timestamp = now_ms
        elif not is_alone:
            max_timestamp = header.max_timestamp
        if header.magic == MAGIC_V2:
            stamp(
                buffer, header, next_offset, leader_epoch,
                max_timestamp=max_timestamp, log_append_time=append_time,
            )  # fmt: skip
            next_offset = header.next_offset
        else:
            assert survey is not None
            next_offset += survey.count if header.codec else 1
            stamp_legacy(
                buffer, header, next_offset - 1,
                max_timestamp=max_timestamp, log_append_time=append_time,
            )  # fmt: skip


def _finish(
    buffer: bytearray | memoryview,
    headers: list[BatchHeader],
    rules: AppendRules,
    next_offset: int,
    now_ms: int,
    was_rewritten: bool,
) -> ValidatedRecords:
    max_timestamp = offset_of_max_timestamp = -1
    for header in headers:
        if was_rewritten:
            check_sizes(header, rules)
        if header.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max_timestamp = header.max_timestamp, header.last_offset
    if offset_of_max_timestamp < 0:
        offset_of_max_timestamp = headers[-1].last_offset
    end = headers[-1].end
    if end > rules.segment_bytes:
        raise RecordListTooLarge(f"{end} bytes are above segment.bytes {rules.segment_bytes}")
    return ValidatedRecords(
        buffer if end == len(buffer) else memoryview(buffer)[:end],
        headers, next_offset, headers[-1].last_offset, max_timestamp, offset_of_max_timestamp,
        now_ms if rules.is_log_append_time else NO_TIMESTAMP, was_rewritten,
    )  # fmt: skip
