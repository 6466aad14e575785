"""One pass over the records of a produced batch: keys, timestamps, offsets, inner CRCs."""

from barnabas.storage.append.rules import FOREVER_MS, AppendRules
from barnabas.storage.batch.header import MAGIC_V2, NO_TIMESTAMP, BatchHeader, Buffer, crc_is_valid
from barnabas.storage.batch.legacy import decode_inner, decode_legacy, inner_messages_in_steps
from barnabas.storage.batch.records import (
    Record,
    decode_headers,
    records_data_in_steps,
    walk_frames,
)
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps
from barnabas.storage.batch.varint import read_varint
from barnabas.storage.errors import (
    CorruptBatch,
    DecompressionTooLarge,
    InvalidRecord,
    InvalidTimestamp,
    MixedFormats,
    WrongChecksum,
)


class Survey:
    """What the pass found: of format 2 the plain record bytes, of formats 0 and 1 the records."""

    def __init__(self, rules: AppendRules, now_ms: int) -> None:
        self.count = 0
        self._batch_start = 0
        self.max_timestamp = NO_TIMESTAMP
        self.offsets_count_from_0 = True
        self.data = b""
        self.records: list[Record] = []
        self._is_compacted = rules.is_compacted
        self._is_log_append_time = rules.is_log_append_time
        self._now_ms = now_ms
        self._limit_bytes = rules.decompressed_limit_bytes
        self._most_record_bytes = rules.most_decompressed_record_bytes
        self._earliest_ms = now_ms - rules.timestamp_before_max_ms
        self._latest_ms = min(now_ms + rules.timestamp_after_max_ms, FOREVER_MS)
        self._errors: list[tuple[int, str]] = []
        self._bad_timestamps = False
        self._keyless_count = 0

    @property
    def limit_bytes(self) -> int:
        return self._limit_bytes

    def require_small(self, data: bytes, start: int, end: int) -> None:
        """InvalidRecord for a record of a compressed batch above the topic's limit.

        What counts is its length as the record itself tells it, as in Kafka.
        """
        most = self._most_record_bytes
        if end - start > most:
            size_bytes, _ = read_varint(data, start)
            if size_bytes > most:
                raise InvalidRecord(
                    f"a record of {size_bytes} bytes is above max.decompressed.message.bytes {most}"
                )

    def add(self, has_key: bool, timestamp: int, is_append_time: bool) -> None:
        """Take note of one record; `is_append_time` is its batch's timestamp type."""
        index = self.count - self._batch_start
        self.count += 1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        if self._is_compacted and not has_key:
            self._keyless_count += 1
            self._errors.append((index, "a compacted topic takes no record without a key"))
        elif not self._is_log_append_time and timestamp != NO_TIMESTAMP:
            if not self._earliest_ms <= timestamp <= self._latest_ms:
                self._bad_timestamps = True
                self._errors.append((index, self._out_of_range(timestamp)))
        elif is_append_time:
            self._bad_timestamps = True
            self._errors.append((index, "producers may not send timestamp type LogAppendTime"))

    def start_batch(self) -> None:
        """Errors name records by their index in the batch, which for plain messages is 0."""
        self._batch_start = self.count

    def _out_of_range(self, timestamp: int) -> str:
        return f"timestamp {timestamp} is not within {self._earliest_ms} to {self._latest_ms}"

    def raise_errors(self) -> None:
        """InvalidTimestamp if any timestamp is bad, else InvalidRecord if anything is."""
        if not self._errors:
            return
        error = InvalidTimestamp if self._bad_timestamps else InvalidRecord
        index, message = self._errors[0]
        raise error(
            f"{len(self._errors)} records are refused, the first at index {index}: {message}",
            record_errors=self._errors,
            keyless_count=self._keyless_count,
        )


def survey_in_steps(survey: Survey, buffer: Buffer, header: BatchHeader) -> Steps[None]:
    """Add a batch's records; raises at the first batch with bad ones.

    Malformed records are InvalidRecord, wrong inner CRCs CorruptBatch.
    """
    survey.start_batch()
    try:
        if header.magic == MAGIC_V2:
            yield from _survey_v2(survey, buffer, header)
        else:
            yield from _survey_legacy(survey, buffer, header)
    except (DecompressionTooLarge, WrongChecksum):
        raise
    except CorruptBatch as error:
        raise InvalidRecord(error.reason) from None
    survey.raise_errors()


def _survey_v2(survey: Survey, buffer: Buffer, header: BatchHeader) -> Steps[None]:
    data = survey.data = yield from records_data_in_steps(buffer, header, survey.limit_bytes)
    is_append_time = header.is_log_append_time
    base_timestamp = header.base_timestamp
    for index, frame in enumerate(walk_frames(data, header.record_count)):
        start, end, timestamp_delta, offset_delta, _, key_length, _, _, headers_position = frame
        if header.codec:
            survey.require_small(data, start, end)
        decode_headers(data, headers_position, end)
        if offset_delta != index:
            survey.offsets_count_from_0 = False
        timestamp = header.max_timestamp if is_append_time else base_timestamp + timestamp_delta
        survey.add(key_length >= 0, timestamp, is_append_time)
        if index % RECORDS_OF_A_STEP == RECORDS_OF_A_STEP - 1:
            yield


def _survey_legacy(survey: Survey, buffer: Buffer, header: BatchHeader) -> Steps[None]:
    is_append_time = header.is_log_append_time
    if header.codec:
        data, inner = yield from inner_messages_in_steps(buffer, header, survey.limit_bytes)
        yield from _check_inner_messages(data, inner, header)
        records = decode_inner(data, inner, header)
    else:
        records = decode_legacy(buffer, header)
    for index, record in enumerate(records):
        if header.codec and record.offset != index:
            survey.offsets_count_from_0 = False
        survey.records.append(record)
        survey.add(record.key is not None, record.timestamp, is_append_time)
        if index % RECORDS_OF_A_STEP == RECORDS_OF_A_STEP - 1:
            yield


def _check_inner_messages(
    data: bytes, inner: list[BatchHeader], header: BatchHeader
) -> Steps[None]:
    """Inner messages have a format and a CRC of their own, which must fit."""
    for index, message in enumerate(inner):
        if message.magic != header.magic:
            raise MixedFormats(f"format {message.magic} inside a wrapper of {header.magic}")
        if not crc_is_valid(data, message):
            raise WrongChecksum("the CRC does not match an inner message")
        if index % RECORDS_OF_A_STEP == RECORDS_OF_A_STEP - 1:
            yield
