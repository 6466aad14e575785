"""Records that have to be looked into one by one: in steps, while others may append."""

import pytest

from barnabas.storage.append.record_validation import can_move, moved, validate_in_steps
from barnabas.storage.append.rules import AppendRules
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import InvalidRecord, RecordTooLarge
from tests.storage.appending import COMPACTED, FULL, NOW_MS, USUAL, check, lead
from tests.wire.steps import finished

COUNT = 6_000
MANY = [Record(n, NOW_MS, b"key", b"v") for n in range(COUNT)]
KINDS = {
    "compacted": (build_batch(MANY), COMPACTED),
    "compacted, compressed": (build_batch(MANY, codec=Codec.ZSTD), COMPACTED),
    "full": (build_batch(MANY), FULL),
    "recompressed": (build_batch(MANY), AppendRules(codec=Codec.GZIP)),
    "decompressed": (build_batch(MANY, codec=Codec.LZ4), AppendRules(codec=Codec.NONE)),
    "early": (build_batch(MANY), AppendRules(timestamp_before_max_ms=1000)),
    "format 0": (build_message_set(MANY, 0), USUAL),
    "format 1": (build_message_set(MANY, 1), USUAL),
    "format 0, compressed": (build_message_set(MANY, 0, codec=Codec.GZIP), USUAL),
    "format 1, compressed": (build_message_set(MANY, 1, codec=Codec.GZIP), COMPACTED),
    "to format 1": (build_batch(MANY), AppendRules(magic=1)),
    "to format 1, compressed": (build_batch(MANY), AppendRules(magic=1, codec=Codec.GZIP)),
    "format 1 to stay": (build_message_set(MANY, 1), AppendRules(magic=1)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_many_records_are_looked_into_in_steps_and_go_where_the_log_ends_then(kind: str) -> None:
    buffer, rules = KINDS[kind]
    at_once = lead(bytearray(buffer), rules, one_v2_batch=False)
    steps = validate_in_steps(bytearray(buffer), rules, 0, -1, NOW_MS, True, False, True)
    validated = finished(steps)
    assert validated.steps >= COUNT // 64
    assert can_move(validated.value)
    valid = moved(validated.value, 100, 4)
    assert bytes(valid.buffer) == bytes(at_once.buffer)
    assert valid.headers == at_once.headers
    assert valid.first_offset == at_once.first_offset
    assert valid.offset_of_max_timestamp == at_once.offset_of_max_timestamp
    if not kind.startswith("format 0"):  # which has no timestamps
        check(valid, MANY)


def test_what_has_absolute_offsets_inside_is_not_done_ahead() -> None:
    rules = AppendRules(magic=0, codec=Codec.GZIP)
    steps = validate_in_steps(build_batch(MANY), rules, 0, -1, NOW_MS, True, True, True)
    assert not can_move(finished(steps).value)


def test_a_bad_record_is_named_as_it_is_at_once() -> None:
    keyless = [*MANY[:-1], Record(COUNT - 1, NOW_MS, None, b"v")]
    buffer = build_batch(keyless)
    with pytest.raises(InvalidRecord) as refused:
        finished(validate_in_steps(buffer, COMPACTED, 0, -1, NOW_MS, True, True, True))
    assert [index for index, _ in refused.value.record_errors] == [COUNT - 1]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_that_make_too_large_a_batch_are_not_even_counted(magic: int) -> None:
    """As soon as those so far are too much, however many there are."""
    rules = AppendRules(max_message_bytes=10_000)
    buffer = build_message_set(MANY, magic)
    taken = 0
    with pytest.raises(RecordTooLarge):
        for _ in validate_in_steps(buffer, rules, 0, -1, NOW_MS, True, False, True):
            taken += 1
    assert taken <= 10_000 // 11 // 64 + 1


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_that_just_fit_are_taken(magic: int) -> None:
    size = len(lead(build_message_set(MANY, magic), USUAL, one_v2_batch=False).buffer)
    buffer = build_message_set(MANY, magic)
    assert len(lead(buffer, AppendRules(max_message_bytes=size), one_v2_batch=False).buffer) == size
    with pytest.raises(RecordTooLarge):
        lead(buffer, AppendRules(max_message_bytes=size - 1), one_v2_batch=False)
