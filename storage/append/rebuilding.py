"""Writing a produced batch anew: another codec, another format, offsets that do not count up."""

from dataclasses import replace

from barnabas.storage.append.record_survey import Survey
from barnabas.storage.append.rules import AppendRules
from barnabas.storage.batch.builder import build_batch_in_steps, pack_batch
from barnabas.storage.batch.compression import Codec, compress_in_steps
from barnabas.storage.batch.header import CODEC_MASK, LOG_APPEND_TIME, MAGIC_V2, BatchHeader
from barnabas.storage.batch.legacy import MessageSet
from barnabas.storage.batch.records import Record, decode_data, walk_frames
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps
from barnabas.storage.errors import RecordsNotConvertible


def rewrite_in_steps(
    first: BatchHeader,
    survey: Survey,
    rules: AppendRules,
    codec: Codec,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
) -> Steps[bytearray]:
    """The surveyed records in the topic's format and codec, offsets from `next_offset` on.

    Raises RecordsNotConvertible for what formats 0 and 1 cannot hold.
    """
    level = rules.level if rules.codec is not None else None
    append_time_ms = now_ms if rules.is_log_append_time else None
    if _only_codec_differs(first, survey, rules):
        data = yield from compress_in_steps(codec, survey.data, level)
        return _recompressed(first, survey, codec, data, next_offset, leader_epoch, append_time_ms)
    records = survey.records
    if not records:
        records = yield from _decoded(survey.data, first)
    for number, record in enumerate(records):
        record.offset = next_offset + number
        if number % RECORDS_OF_A_STEP == 0:
            yield
    if rules.magic < MAGIC_V2:
        return (yield from _message_set(records, rules.magic, codec, level, append_time_ms))
    return (
        yield from build_batch_in_steps(
            records,
            codec=codec,
            level=level,
            leader_epoch=leader_epoch,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            base_sequence=first.base_sequence,
            is_transactional=first.is_transactional,
            log_append_time_ms=append_time_ms,
        )
    )


def _decoded(data: bytes, header: BatchHeader) -> Steps[list[Record]]:
    records: list[Record] = []
    for record in decode_data(data, header):
        records.append(record)
        if len(records) % RECORDS_OF_A_STEP == 0:
            yield
    return records


def _only_codec_differs(first: BatchHeader, survey: Survey, rules: AppendRules) -> bool:
    """Can the record bytes stay? Kafka writes them anew with the first timestamp as base."""
    if first.magic != MAGIC_V2 or rules.magic != MAGIC_V2 or not survey.offsets_count_from_0:
        return False
    _, _, timestamp_delta, *_ = next(walk_frames(survey.data, first.record_count))
    return timestamp_delta == 0 and not first.is_log_append_time


def _recompressed(
    first: BatchHeader,
    survey: Survey,
    codec: Codec,
    data: bytes,
    next_offset: int,
    leader_epoch: int,
    append_time_ms: int | None,
) -> bytearray:
    attributes = first.attributes & ~(CODEC_MASK | LOG_APPEND_TIME) | codec
    max_timestamp = survey.max_timestamp
    if append_time_ms is not None:
        attributes |= LOG_APPEND_TIME
        max_timestamp = append_time_ms
    header = replace(
        first,
        base_offset=next_offset,
        partition_leader_epoch=leader_epoch,
        attributes=attributes,
        max_timestamp=max_timestamp,
    )
    return pack_batch(header, data)


def _message_set(
    records: list[Record], magic: int, codec: Codec, level: int | None, append_time_ms: int | None
) -> Steps[bytearray]:
    if codec == Codec.ZSTD:
        raise RecordsNotConvertible(f"message format {magic} knows no zstd")
    messages = MessageSet(magic, codec, append_time_ms, level)
    for number, record in enumerate(records):
        if record.headers:
            raise RecordsNotConvertible(f"message format {magic} holds no record headers")
        messages.add(record)
        if number % RECORDS_OF_A_STEP == 0:
            yield
    return (yield from messages.finish_in_steps())
