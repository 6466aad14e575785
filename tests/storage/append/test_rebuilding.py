"""Batches that are written anew on their way into the log: codecs and formats."""

import pytest

from barnabas.storage.append.rules import AppendRules
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec, compress
from barnabas.storage.batch.header import MAGIC_V0, MAGIC_V1
from barnabas.storage.batch.legacy import append_message, build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    RecordsNotConvertible,
    UnsupportedForMessageFormat,
)
from tests.storage.appending import NOW_MS, check, lead, records


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize("target", list(Codec))
def test_recompression(source: Codec, target: Codec) -> None:
    buffer = build_batch(records(50), codec=source, producer_id=3, producer_epoch=1,
                         base_sequence=8, is_transactional=True)  # fmt: skip
    valid = lead(buffer, AppendRules(codec=target))
    assert valid.was_rewritten == (source != target)
    check(valid, records(50))
    header = valid.headers[0]
    assert (header.codec, header.producer_id, header.producer_epoch) == (target, 3, 1)
    assert (header.base_sequence, header.is_transactional) == (8, True)


@pytest.mark.parametrize("magic", [MAGIC_V0, MAGIC_V1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_old_message_sets_become_one_batch(magic: int, codec: Codec) -> None:
    sent = records()
    valid = lead(build_message_set(sent, magic, codec=codec), one_v2_batch=False)
    if magic == MAGIC_V0:
        for record in sent:
            record.timestamp = -1
    assert valid.was_rewritten
    check(valid, sent)
    assert [(h.magic, h.codec, h.record_count) for h in valid.headers] == [(2, codec, 3)]


@pytest.mark.parametrize("source", [MAGIC_V0, MAGIC_V1, 2])
@pytest.mark.parametrize("target", [MAGIC_V0, MAGIC_V1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_topics_in_old_formats(source: int, target: int, codec: Codec) -> None:
    sent = records()
    if source == 2:
        buffer = build_batch(sent, codec=codec)
    else:
        buffer = build_message_set(sent, source, codec=codec)
    valid = lead(buffer, AppendRules(magic=target), one_v2_batch=source == 2)
    if MAGIC_V0 in (source, target):
        for record in sent:
            record.timestamp = -1
    check(valid, sent)
    assert {header.magic for header in valid.headers} == {target}


def test_format_1_log_append_time_in_place() -> None:
    rules = AppendRules(magic=MAGIC_V1, is_log_append_time=True)
    for codec in (Codec.NONE, Codec.GZIP):
        buffer = build_message_set(records(), MAGIC_V1, codec=codec)
        valid = lead(buffer, rules, one_v2_batch=False)
        assert not valid.was_rewritten
        for record in (expected := records()):
            record.timestamp = NOW_MS
        check(valid, expected)


def test_inner_offsets_that_do_not_count_are_put_right() -> None:
    odd = [Record(0, NOW_MS, b"a", None), Record(5, NOW_MS, b"b", None)]
    valid = lead(
        build_message_set(odd, MAGIC_V1, codec=Codec.GZIP),
        AppendRules(magic=MAGIC_V1),
        one_v2_batch=False,
    )
    assert valid.was_rewritten
    check(valid, [Record(0, NOW_MS, b"a", None), Record(1, NOW_MS, b"b", None)])


def test_old_librdkafka_leaves_the_wrapper_offset_0() -> None:
    buffer = build_message_set(records(), MAGIC_V1, codec=Codec.GZIP)
    buffer[:8] = bytes(8)
    valid = lead(buffer, AppendRules(magic=MAGIC_V1), one_v2_batch=False)
    check(valid, records())


def test_what_old_formats_cannot_hold() -> None:
    old = AppendRules(magic=MAGIC_V1)
    with pytest.raises(RecordsNotConvertible, match="headers"):
        lead(build_batch([Record(0, NOW_MS, b"k", b"v", (("h", b""),))]), old)
    with pytest.raises(RecordsNotConvertible, match="zstd"):
        lead(build_batch(records(), codec=Codec.ZSTD), old)
    with pytest.raises(UnsupportedForMessageFormat):
        lead(build_batch(records(), producer_id=1, producer_epoch=0, base_sequence=0), old)


def test_inner_messages_have_crcs() -> None:
    inner = build_message_set(records(), MAGIC_V1)
    inner[-1] ^= 1
    wrapper = bytearray()
    append_message(wrapper, MAGIC_V1, 2, NOW_MS, None, compress(Codec.GZIP, inner), Codec.GZIP)
    with pytest.raises(CorruptBatch, match="inner"):
        lead(wrapper, one_v2_batch=False)


def test_mixed_formats_and_several_wrappers_are_refused() -> None:
    mixed = build_message_set(records(1), MAGIC_V0) + build_message_set(records(1), MAGIC_V1)
    two = build_message_set(records(1), MAGIC_V1, codec=Codec.GZIP) * 2
    for bad in (mixed, two):
        with pytest.raises(InvalidRecord):
            lead(bad, one_v2_batch=False)
