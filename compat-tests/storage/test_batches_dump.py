"""Apache Kafka's dump tool reads segment files of batches that we built, in every format."""

from dataclasses import replace
from pathlib import Path

import pytest
from dump_tool import TOOLS, dump, records_of, shown

from barnabas.storage.append.rules import AppendRules
from barnabas.storage.append.validation import validate_as_leader
from barnabas.storage.batch.builder import (
    build_batch,
    build_empty_batch,
    build_end_transaction_marker,
)
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.down_conversion import down_convert
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record, decode_all

NOW_MS = 1_700_000_000_000
FILE = "00000000000000000100.log"
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)


def sample(count: int = 40) -> list[Record]:
    """Records of all kinds; enough bytes for several snappy and LZ4 blocks."""
    made = [
        Record(100 + i, NOW_MS + (i * 37) % 11, f"key-{i}".encode(), f"{i} ".encode() * 700)
        for i in range(count)
    ]
    made[1].key = None
    made[2].value = None
    made[3].key = made[3].value = b""
    return made


def with_headers(records: list[Record]) -> list[Record]:
    headers = (("trace", b"abc"), ("none", None), ("trace", b""))
    return [
        replace(record, headers=headers if record.offset % 3 == 0 else ()) for record in records
    ]


def lead(buffer: bytes | bytearray, rules: AppendRules) -> bytes:
    """The bytes that would be written after an append."""
    valid = validate_as_leader(buffer, rules, next_offset=100, leader_epoch=7, now_ms=NOW_MS)
    return bytes(valid.buffer)


def produced(codec: Codec) -> bytearray:
    return build_batch(
        [replace(record, offset=record.offset - 100) for record in with_headers(sample())],
        codec=codec,
        producer_id=5,
        producer_epoch=1,
        base_sequence=0x7FFFFFF0,
    )


def transaction() -> bytes:
    data = build_batch(
        sample(), producer_id=8, producer_epoch=2, base_sequence=0, is_transactional=True
    )
    markers = [
        build_end_transaction_marker(
            EndTransactionMarker(is_commit, coordinator_epoch=3),
            producer_id=8,
            producer_epoch=2,
            timestamp_ms=NOW_MS,
            base_offset=offset,
        )
        for is_commit, offset in ((True, 140), (False, 141))
    ]
    return bytes(data + markers[0] + markers[1])


def cleaned() -> bytes:
    kept = [record for record in sample() if record.offset % 4 == 0]
    return bytes(
        build_batch(kept, base_offset=100, last_offset=139, delete_horizon_ms=NOW_MS + 5)
        + build_empty_batch(
            140, 149, max_timestamp=NOW_MS, producer_id=1, producer_epoch=0, base_sequence=4
        )
    )


def segments() -> dict[str, bytes]:
    """File name to content: batches written directly, through validation, and converted."""
    made: dict[str, bytes] = {"transaction": transaction(), "cleaned": cleaned()}
    for codec in Codec:
        made[f"v2-{codec.label}"] = bytes(build_batch(with_headers(sample()), codec=codec))
        made[f"led-{codec.label}"] = lead(produced(codec), AppendRules(check_records=True))
        made[f"recompressed-{codec.label}"] = lead(produced(Codec.NONE), AppendRules(codec=codec))
        appended = AppendRules(codec=codec, is_log_append_time=True)
        made[f"append-time-{codec.label}"] = lead(produced(Codec.GZIP), appended)
    for level in (1, 9, 12):
        records = with_headers(sample())
        made[f"lz4-{level}"] = bytes(build_batch(records, codec=Codec.LZ4, level=level))
    for codec in OLD_CODECS:
        v2 = bytes(build_batch(with_headers(sample()), codec=codec))
        for magic in (0, 1):
            name = f"v{magic}-{codec.label}"
            plain = build_message_set(sample(), magic, codec=codec)
            made[name] = bytes(plain)
            made[f"{name}-down"] = down_convert(v2, magic, 100)
            made[f"{name}-up"] = lead(plain, AppendRules())
            made[f"{name}-led"] = lead(plain, AppendRules(magic=1 - magic))
        made[f"v1-{codec.label}-append-time"] = bytes(
            build_message_set(sample(), 1, codec=codec, log_append_time_ms=NOW_MS)
        )
    return made


@pytest.mark.parametrize("jars", TOOLS)
def test_dump_tool_shows_the_same_records(jars: str, tmp_path: Path) -> None:
    made = segments()
    paths = []
    for name, content in made.items():
        (tmp_path / name).mkdir()
        paths.append(tmp_path / name / FILE)
        paths[-1].write_bytes(content)
    dumped = dump(jars, paths, "--print-data-log", "--deep-iteration")
    assert complaints(dumped.complaints) == []
    assert set(dumped.files) == {f"{name}/{FILE}" for name in made}
    for name, content in made.items():
        lines = dumped.files[f"{name}/{FILE}"]
        assert not [line for line in lines if "isvalid: false" in line]
        assert records_of(lines) == [shown(record) for record in decode_all(content)], name


def complaints(lines: list[str]) -> list[str]:
    """What the tool said of our files: not of gaps that belong there.

    It takes -1 as the offset before the first, and misses the offsets that cleaning removed.
    """
    gaps = f"cleaned/{FILE}"
    found, file = [], ""
    for line in lines:
        if line.startswith("Non-consecutive offsets in "):
            file = line
        elif line.endswith(" is followed by 100") or (file.endswith(gaps) and "followed" in line):
            continue
        else:
            found.append(f"{file} {line}")
    return found
