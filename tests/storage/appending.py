"""What tests of appending share: records to produce, rules, and how a result is checked."""

from barnabas.storage.append.rules import AppendRules, ValidatedRecords
from barnabas.storage.append.validation import validate_as_leader
from barnabas.storage.batch.header import crc_is_valid, walk
from barnabas.storage.batch.records import Record, decode_all

NOW_MS = 1_700_000_000_000
FULL = AppendRules(check_records=True)
USUAL = AppendRules()
COMPACTED = AppendRules(is_compacted=True)


def records(count: int = 3, start_ms: int = NOW_MS) -> list[Record]:
    return [Record(i, start_ms + i, b"k%d" % i, b"v%d" % i) for i in range(count)]


def lead(
    buffer: bytes | bytearray | memoryview,
    rules: AppendRules = USUAL,
    *,
    from_client: bool = True,
    one_v2_batch: bool = True,
    allow_zstd: bool = True,
) -> ValidatedRecords:
    return validate_as_leader(
        buffer,
        rules,
        next_offset=100,
        leader_epoch=4,
        now_ms=NOW_MS,
        from_client=from_client,
        one_v2_batch=one_v2_batch,
        allow_zstd=allow_zstd,
    )


def check(valid: ValidatedRecords, expected: list[Record]) -> None:
    """The result is written as it stands: headers true, CRCs right, records as expected."""
    headers = list(walk(valid.buffer))
    assert headers == valid.headers
    assert all(crc_is_valid(valid.buffer, header) for header in headers)
    found = [(r.offset, r.timestamp, r.key, r.value) for r in decode_all(valid.buffer)]
    assert found == [(r.offset + 100, r.timestamp, r.key, r.value) for r in expected]
    assert valid.first_offset == 100
    assert valid.last_offset == 99 + len(expected)
