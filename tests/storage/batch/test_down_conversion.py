"""Down-conversion for old consumers."""

from dataclasses import replace

import pytest

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.down_conversion import (
    down_convert,
    down_convert_in_steps,
    needs_down_conversion,
)
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record, decode_all
from barnabas.storage.errors import UnsupportedCodec
from tests.storage.golden_batches import golden_logs
from tests.wire.steps import finished

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def records() -> list[Record]:
    return [
        Record(10, 500, b"a", b"1", (("dropped", b"x"),)),
        Record(11, 400, b"b", None),
        Record(14, 600, None, b""),
    ]


def expected(sent: list[Record], magic: int) -> list[Record]:
    return [
        replace(record, headers=(), timestamp=record.timestamp if magic else -1) for record in sent
    ]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", CODECS)
def test_format_2_to_older(magic: int, codec: Codec) -> None:
    batch = build_batch(records(), codec=codec)
    converted = down_convert(batch, magic, 10)
    assert list(decode_all(converted)) == expected(records(), magic)
    assert {(h.magic, h.codec) for h in walk(converted)} == {(magic, codec)}
    assert not finished(needs_down_conversion(converted, magic)).value


@pytest.mark.parametrize("codec", CODECS)
def test_format_1_to_0_and_back_needs_no_conversion(codec: Codec) -> None:
    sent = expected(records(), 1)
    messages = build_message_set(sent, 1, codec=codec)
    assert finished(needs_down_conversion(messages, 0)).value
    assert not finished(needs_down_conversion(messages, 1)).value
    assert list(decode_all(down_convert(messages, 0, 0))) == expected(sent, 0)
    assert down_convert(messages, 1, 0) == messages
    older = build_message_set(sent, 0, codec=codec)
    assert down_convert(older, 1, 0) == older


def test_only_plain_batches_lose_what_lies_before_the_first_offset() -> None:
    for codec in CODECS:
        offsets = [
            r.offset for r in decode_all(down_convert(build_batch(records(), codec=codec), 1, 12))
        ]
        assert offsets == ([14] if codec == Codec.NONE else [10, 11, 14])
    assert down_convert(build_batch(records()), 1, 15) == b""


def test_control_batches_are_left_out() -> None:
    marker = build_end_transaction_marker(
        EndTransactionMarker(True, 0), producer_id=1, producer_epoch=0, timestamp_ms=0
    )
    assert down_convert(marker, 1, 0) == b""


def test_log_append_time_stays_in_format_1() -> None:
    for codec in CODECS:
        batch = build_batch(records(), codec=codec, log_append_time_ms=99)
        converted = down_convert(batch, 1, 0)
        assert all(header.is_log_append_time for header in walk(converted))
        assert {record.timestamp for record in decode_all(converted)} == {99}


def test_zstd_has_no_old_form() -> None:
    with pytest.raises(UnsupportedCodec):
        down_convert(build_batch(records(), codec=Codec.ZSTD), 1, 0)


def test_a_tail_cut_short_is_left_out() -> None:
    batch = build_batch(records())
    assert down_convert(batch + batch[:70], 1, 0) == down_convert(batch, 1, 0)


def test_a_topic_of_all_three_formats() -> None:
    data = golden_logs("3.9.1", "legacy-formats").files["mixed-0/00000000000000000000.log"]
    sent = list(decode_all(data))
    for magic in (0, 1):
        converted = list(decode_all(down_convert(data, magic, 0)))
        assert [(r.offset, r.key, r.value) for r in converted] == [
            (r.offset, r.key, r.value) for r in sent
        ]
        assert [r.timestamp for r in converted] == [r.timestamp if magic else -1 for r in sent]


def test_a_batch_of_many_records_is_converted_in_steps() -> None:
    many = [Record(n, 0, b"k", b"v") for n in range(5_000)]
    for codec in (Codec.NONE, Codec.GZIP):
        batch = build_batch(many, codec=codec)
        converted = finished(down_convert_in_steps(batch, 1, 0))
        assert converted.steps >= 5_000 // 100
        assert [r.offset for r in decode_all(converted.value)] == list(range(5_000))
