"""What may be appended, and what batches look like after their offsets are assigned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.append.rules import AppendRules
from barnabas.storage.append.validation import validate_as_follower
from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker, pack_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import MAGIC_V1, compute_crc, crc_is_valid, walk
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record, decode_all
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    OffsetsOutOfOrder,
    RecordListTooLarge,
    RecordTooLarge,
    StorageError,
    UnexpectedAppendOffset,
    UnsupportedCodec,
    UnsupportedMagic,
)
from tests.storage.appending import COMPACTED, FULL, NOW_MS, USUAL, check, lead, records


@pytest.mark.parametrize("rules", [USUAL, FULL, COMPACTED])
@pytest.mark.parametrize("codec", list(Codec))
def test_one_batch_is_stamped_in_place(rules: AppendRules, codec: Codec) -> None:
    buffer = build_batch(records(), codec=codec)
    valid = lead(buffer, rules)
    assert valid.buffer is buffer
    assert not valid.was_rewritten
    check(valid, records())
    assert valid.headers[0].partition_leader_epoch == 4
    assert (valid.max_timestamp, valid.offset_of_max_timestamp) == (NOW_MS + 2, 102)
    assert valid.log_append_time_ms == -1


def test_a_read_only_buffer_is_left_alone() -> None:
    original = bytes(build_batch(records()))
    check(lead(original), records())
    check(lead(memoryview(original)), records())
    assert original == bytes(build_batch(records()))


@pytest.mark.parametrize("check_records", [False, True])
def test_log_append_time_replaces_timestamps_in_the_header(check_records: bool) -> None:
    rules = AppendRules(is_log_append_time=True, check_records=check_records)
    valid = lead(build_batch(records(start_ms=5)), rules)
    assert {record.timestamp for record in decode_all(valid.buffer)} == {NOW_MS}
    assert valid.max_timestamp == valid.log_append_time_ms == NOW_MS
    assert valid.headers[0].base_timestamp == 5
    assert crc_is_valid(valid.buffer, valid.headers[0])


def test_producers_may_not_send_log_append_time_to_such_a_topic() -> None:
    buffer = build_batch(records(), log_append_time_ms=NOW_MS)
    with pytest.raises(InvalidTimestamp) as caught:
        lead(buffer, AppendRules(is_log_append_time=True))
    assert [index for index, _ in caught.value.record_errors] == [0, 1, 2]


def test_log_append_time_sent_to_a_create_time_topic_becomes_create_time() -> None:
    valid = lead(build_batch(records(), log_append_time_ms=NOW_MS))
    assert not valid.headers[0].is_log_append_time
    assert valid.max_timestamp == NOW_MS
    assert crc_is_valid(valid.buffer, valid.headers[0])


@pytest.mark.parametrize("rules", [USUAL, FULL])
def test_flipped_bits_are_found(rules: AppendRules) -> None:
    buffer = build_batch(records())
    buffer[-1] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        lead(buffer, rules)


def test_header_counts_must_agree() -> None:
    for last_offset in (1, 3):
        with pytest.raises(InvalidRecord, match="do not agree"):
            lead(build_batch(records(), last_offset=last_offset))
    with pytest.raises(InvalidRecord, match="base offset 7"):
        lead(build_batch([Record(7, NOW_MS, None, b"")]))


def test_sizes() -> None:
    buffer = build_batch([Record(0, NOW_MS, None, bytes(1000))])
    with pytest.raises(RecordTooLarge):
        lead(buffer, AppendRules(max_message_bytes=1000))
    with pytest.raises(RecordListTooLarge):
        lead(buffer, AppendRules(segment_bytes=1000))
    lead(buffer, AppendRules(max_message_bytes=len(buffer), segment_bytes=len(buffer)))


def test_a_rewritten_batch_must_be_small_enough_too() -> None:
    buffer = build_batch([Record(0, NOW_MS, b"k", bytes(5000))], codec=Codec.GZIP)
    with pytest.raises(RecordTooLarge):
        lead(buffer, AppendRules(codec=Codec.NONE, max_message_bytes=1000))


@pytest.mark.parametrize("rules", [USUAL, FULL])
def test_control_batches_are_the_brokers_own(rules: AppendRules) -> None:
    marker = build_end_transaction_marker(
        EndTransactionMarker(is_commit=True, coordinator_epoch=2),
        producer_id=9,
        producer_epoch=0,
        timestamp_ms=NOW_MS,
    )
    with pytest.raises(InvalidRecord, match="control"):
        lead(bytes(marker), rules)
    for brokers_rules in (rules, COMPACTED, AppendRules(codec=Codec.LZ4)):
        valid = lead(bytes(marker), brokers_rules, from_client=False, one_v2_batch=False)
        assert (valid.headers[0].is_control, valid.headers[0].codec) == (True, Codec.NONE)
        assert valid.headers[0].base_offset == 100


def test_idempotent_batches_need_a_sequence() -> None:
    with pytest.raises(InvalidRecord, match="sequence"):
        lead(build_batch(records(), producer_id=1, producer_epoch=0))
    lead(build_batch(records(), producer_id=1, producer_epoch=0, base_sequence=0))


def test_codecs_that_are_not_allowed() -> None:
    with pytest.raises(UnsupportedCodec):
        lead(build_batch(records(), codec=Codec.ZSTD), allow_zstd=False)
    header = next(walk(build_batch(records())))
    header.attributes = 5
    with pytest.raises(UnsupportedCodec, match="codec 5"):
        lead(repacked(build_batch(records()), header.attributes))


def repacked(buffer: bytearray, attributes: int) -> bytearray:
    """The batch with other attributes and a right CRC."""
    header = next(walk(buffer))
    header.attributes = attributes
    return pack_batch(header, bytes(buffer[61:]))


def test_compacted_topics_need_keys() -> None:
    keyless = [Record(0, NOW_MS, b"k", b""), Record(1, NOW_MS, None, b""), Record(2, 1, None, b"")]
    for codec in Codec:
        with pytest.raises(InvalidRecord) as caught:
            lead(build_batch(keyless, codec=codec), COMPACTED)
        assert [index for index, _ in caught.value.record_errors] == [1, 2]


def test_timestamps_out_of_range() -> None:
    rules = AppendRules(timestamp_before_max_ms=1000, timestamp_after_max_ms=500)
    times = [NOW_MS - 1000, NOW_MS - 1001, NOW_MS + 500, NOW_MS + 501, -1]
    sent = [Record(i, time, b"k", None) for i, time in enumerate(times)]
    with pytest.raises(InvalidTimestamp) as caught:
        lead(build_batch(sent), rules)
    assert [index for index, _ in caught.value.record_errors] == [1, 3]
    late = AppendRules(timestamp_after_max_ms=500)
    with pytest.raises(InvalidTimestamp) as caught:
        lead(build_batch(sent), late)
    assert [index for index, _ in caught.value.record_errors] == [3]
    lead(build_batch(sent[:3]), late)


def test_exactly_one_whole_format_2_batch_since_produce_v3() -> None:
    batch = build_batch(records())
    for bad in (b"", batch[:-1], batch[:10], batch + batch, build_message_set(records(), MAGIC_V1)):
        with pytest.raises(InvalidRecord):
            lead(bytes(bad))
    check(lead(bytes(batch) + bytes(batch[:20])), records())


def test_old_requests_take_several_messages_but_no_half_ones() -> None:
    rules = AppendRules(magic=MAGIC_V1)
    messages = build_message_set(records(), MAGIC_V1)
    valid = lead(messages, rules, one_v2_batch=False)
    assert not valid.was_rewritten
    check(valid, records())
    assert (valid.max_timestamp, valid.offset_of_max_timestamp) == (NOW_MS + 2, 102)
    with pytest.raises(CorruptBatch):
        lead(messages[:-1], rules, one_v2_batch=False)
    assert lead(b"", rules, one_v2_batch=False).headers == []


def test_unknown_format() -> None:
    buffer = build_batch(records())
    buffer[16] = 3
    with pytest.raises(UnsupportedMagic):
        lead(buffer)


def test_records_that_are_no_records() -> None:
    header = next(walk(build_batch(records())))
    for payload in (b"", b"\x02\x00", bytes(61), b"\xff" * 40):
        garbage = pack_batch(header, payload)
        with pytest.raises(InvalidRecord):
            lead(garbage, FULL)
        header.attributes = Codec.GZIP
        with pytest.raises(InvalidRecord):
            lead(pack_batch(header, payload), FULL)
        header.attributes = 0


def test_a_decompression_bomb_is_too_large() -> None:
    buffer = build_batch([Record(0, NOW_MS, b"k", bytes(10 << 20))], codec=Codec.ZSTD)
    assert len(buffer) < 2000
    with pytest.raises(RecordTooLarge, match="grow past"):
        lead(buffer, AppendRules(check_records=True, decompressed_limit_bytes=1 << 20))


def test_a_wrong_max_timestamp_is_put_right_where_records_are_read() -> None:
    buffer = build_batch(records())
    header = next(walk(buffer))
    header.max_timestamp = 5
    wrong = pack_batch(header, bytes(buffer[61:]))
    valid = lead(wrong, FULL)
    assert valid.max_timestamp == valid.headers[0].max_timestamp == NOW_MS + 2
    check(valid, records())


def test_followers_take_what_the_leader_sent() -> None:
    first = build_batch([Record(100, 5, None, b"a"), Record(101, 9, None, b"b")], leader_epoch=2)
    second = build_batch([Record(105, 7, None, b"c")], leader_epoch=3)
    sent = bytes(first + second)
    valid = validate_as_follower(sent + sent[:30], 100)
    assert bytes(valid.buffer) == sent
    assert (valid.first_offset, valid.last_offset) == (100, 105)
    assert (valid.max_timestamp, valid.offset_of_max_timestamp) == (9, 101)
    assert validate_as_follower(b"", 100).headers == []
    with pytest.raises(OffsetsOutOfOrder):
        validate_as_follower(bytes(second + first), 100)
    with pytest.raises(UnexpectedAppendOffset):
        validate_as_follower(sent, 101)
    broken = bytearray(sent)
    broken[-1] ^= 1
    with pytest.raises(CorruptBatch):
        validate_as_follower(broken, 100)


ANY_RULES = st.builds(
    AppendRules,
    codec=st.sampled_from([None, *Codec]),
    magic=st.sampled_from([0, 1, 2]),
    is_compacted=st.booleans(),
    is_log_append_time=st.booleans(),
    check_records=st.booleans(),
    timestamp_before_max_ms=st.sampled_from([0, (1 << 63) - 1]),
)


@given(
    start=st.sampled_from(
        [bytes(build_batch(records(), codec=codec)) for codec in Codec]
        + [bytes(build_message_set(records(), 1, codec=codec)) for codec in (0, 1, 2, 3)]
    ),
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4),
    fix_crc=st.booleans(),
    rules=ANY_RULES,
    one_v2_batch=st.booleans(),
)
def test_damage_raises_only_storage_errors(
    start: bytes,
    flips: list[tuple[int, int]],
    fix_crc: bool,
    rules: AppendRules,
    one_v2_batch: bool,
) -> None:
    buffer = bytearray(start)
    for position, byte in flips:
        buffer[position % len(buffer)] = byte
    if fix_crc:
        buffer = with_right_crc(buffer)
    try:
        valid = lead(buffer, rules, one_v2_batch=one_v2_batch)
        assert list(walk(valid.buffer)) == valid.headers
    except StorageError:
        pass


def with_right_crc(buffer: bytearray) -> bytearray:
    try:
        header = next(walk(buffer))
    except StorageError:
        return buffer
    place = 17 if header.magic == 2 else 12
    buffer[place : place + 4] = compute_crc(buffer, header).to_bytes(4, "big")
    return buffer
