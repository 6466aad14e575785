"""Validation and conversion beside Apache Kafka's own LogValidator and down-conversion.

The same produced bytes go through both: both refuse (for the same reason, naming the same
records) or both accept, and then what would be written is the same, byte for byte where
nothing was compressed anew, and otherwise in headers and decompressed records.
"""

import random
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from barnabas.storage.append.rules import FOREVER_MS, AppendRules
from barnabas.storage.append.validation import validate_as_leader
from barnabas.storage.batch.builder import build_batch, pack_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.down_conversion import down_convert
from barnabas.storage.batch.header import MAGIC_V2, Buffer, compute_crc, parse_header, walk
from barnabas.storage.batch.legacy import build_message_set, inner_messages
from barnabas.storage.batch.records import Record, records_data
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    RecordsNotConvertible,
    StorageError,
    UnsupportedForMessageFormat,
)

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import java_command, require_oracle

ORACLE = Path(__file__).with_name("ValidatorOracle.java")
NOW_MS = 1_700_000_000_000
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
KAFKAS_NAMES = {
    InvalidTimestamp: "InvalidTimestampException",
    InvalidRecord: "InvalidRecordException",
    CorruptBatch: "CorruptRecordException",
    UnsupportedForMessageFormat: "UnsupportedForMessageFormatException",
    RecordsNotConvertible: "IllegalArgumentException",
}


@dataclass(frozen=True)
class Case:
    """Produced bytes and the topic they go to."""

    data: bytes
    rules: AppendRules

    def is_transactional_to_old_format(self) -> bool:
        return self.rules.magic < MAGIC_V2 and parse_header(self.data).is_transactional

    def question(self) -> str:
        rules = self.rules
        fields = (
            "validate", self.data.hex(), -1 if rules.codec is None else int(rules.codec),
            rules.is_compacted, rules.magic, rules.is_log_append_time,
            rules.timestamp_before_max_ms, rules.timestamp_after_max_ms,
        )  # fmt: skip
        return "\t".join(str(field) for field in fields)


def ask_kafka(questions: list[str]) -> list[str]:
    command = java_command(require_oracle("jars-3.9.1"), str(ORACLE))
    result = subprocess.run(
        command, input="\n".join(questions), capture_output=True, text=True, timeout=300
    )
    lines = [line for line in result.stdout.splitlines() if line.startswith(("ok\t", "error\t"))]
    assert len(lines) == len(questions), result.stderr[-2000:]
    return lines


def random_records(rng: random.Random) -> list[Record]:
    times = [NOW_MS, NOW_MS - 5_000, NOW_MS + 5_000, NOW_MS - 90_000, -1]
    weights = [20, 10, 10, 1, 1]
    records = []
    for offset in range(rng.randint(1, 6)):
        key = rng.choice([b"", b"key", b"k" * 200]) if rng.random() < 0.95 else None
        value = rng.choice([None, b"", b"v" * 50, rng.randbytes(100)])
        timestamp = rng.choices(times, weights)[0]
        records.append(Record(offset, timestamp, key, value))
    return records


def random_batch(rng: random.Random) -> bytes:
    records = random_records(rng)
    if rng.random() < 0.2:
        records[0].headers = (("h", b"x"), ("n", None))
    if rng.random() < 0.05:
        records[-1].offset += 1
    idempotent = rng.random() < 0.3
    batch = build_batch(
        records,
        base_offset=0,
        codec=rng.choice(list(Codec)),
        producer_id=7 if idempotent else -1,
        producer_epoch=1 if idempotent else -1,
        base_sequence=rng.choice([0, 3, -1]) if idempotent else -1,
        is_transactional=idempotent and rng.random() < 0.5,
        is_control=rng.random() < 0.03,
        log_append_time_ms=rng.choice([NOW_MS, NOW_MS - 1, -1]) if rng.random() < 0.1 else None,
    )
    if rng.random() < 0.1:
        header = parse_header(batch)
        header.max_timestamp -= rng.choice([1, 1000])
        header.record_count += rng.choice([0, 1, -1])
        batch = pack_batch(header, bytes(batch[61:]))
    return bytes(batch)


def random_messages(rng: random.Random) -> bytes:
    magic, codec = rng.choice([0, 1]), rng.choice(OLD_CODECS)
    records = random_records(rng)
    first = rng.choice([0, 0, 0, 40])
    for record in records:
        record.offset += first
    if rng.random() < 0.1:
        records[-1].offset += 3
    appended = NOW_MS if rng.random() < 0.1 else None
    data = build_message_set(records, magic, codec=codec, log_append_time_ms=appended)
    if magic == 1 and codec and rng.random() < 0.1:
        data[:8] = bytes(8)
    if rng.random() < 0.05:
        data += build_message_set(random_records(rng), rng.choice([0, 1]), codec=codec)
    return bytes(data)


def random_rules(rng: random.Random) -> AppendRules:
    return AppendRules(
        check_records=True,
        codec=rng.choice([None, None, None, *Codec]),
        magic=rng.choice([2, 2, 2, 1, 0]),
        is_compacted=rng.random() < 0.2,
        is_log_append_time=rng.random() < 0.2,
        timestamp_before_max_ms=rng.choice([FOREVER_MS, FOREVER_MS, 60_000]),
        timestamp_after_max_ms=rng.choice([FOREVER_MS, FOREVER_MS, 60_000]),
    )


def random_case(rng: random.Random) -> Case:
    make = rng.choice([random_batch, random_messages])
    return Case(make(rng), random_rules(rng))


def lead(case: Case) -> tuple[Buffer, int]:
    valid = validate_as_leader(
        case.data, case.rules, next_offset=100, leader_epoch=4, now_ms=NOW_MS
    )
    return valid.buffer, valid.max_timestamp


def comparable(data: Buffer) -> list[object]:
    """Batches taken apart, so that only compressed bytes, sizes and their CRCs do not count."""
    parts: list[object] = []
    for header in walk(data):
        assert compute_crc(data, header) == header.crc
        whole = bytes(memoryview(data)[header.position : header.end])
        if header.codec == Codec.NONE:
            parts.append(whole)
        elif header.magic == MAGIC_V2:
            parts += [whole[:8], whole[12:17], whole[21:61], records_data(data, header)]
        else:
            parts += [whole[:8], whole[16:18], header.base_timestamp, inner_messages(data, header)]
    return parts


def name_of(error: StorageError) -> str:
    """Kafka tells less apart than our classes do."""
    return next(KAFKAS_NAMES[cls] for cls in type(error).__mro__ if cls in KAFKAS_NAMES)


def outcomes_of(cases: list[Case]) -> set[str]:
    """What became of the cases, which is what becomes of each with Kafka."""
    answers = ask_kafka([case.question() for case in cases])
    outcomes = set()
    for case, answer in zip(cases, answers, strict=True):
        verdict, *facts = answer.split("\t")
        try:
            data, max_timestamp = lead(case)
        except StorageError as error:
            indices = getattr(error, "record_errors", [])
            ours = [name_of(error), ",".join(str(index) for index, _ in indices)]
            if facts[0] == "IllegalArgumentException" and case.is_transactional_to_old_format():
                ours[0] = facts[0]  # Kafka's builder gives up before its validator looks
            assert [verdict, *facts] == ["error", *ours], (case, error)
            outcomes.add(ours[0])
            continue
        assert verdict == "ok", (case, facts)
        assert comparable(data) == comparable(bytes.fromhex(facts[0])), case
        if case.rules.magic > 0:  # for format 0 Kafka reports a time that nothing holds
            assert max_timestamp == int(facts[1]), case
        outcomes.add("ok")
    return outcomes


def test_validation_is_kafkas() -> None:
    rng = random.Random(39)
    outcomes = outcomes_of([random_case(rng) for _ in range(1500)])
    assert outcomes >= {"ok", *KAFKAS_NAMES.values()} - {"CorruptRecordException"}


def lying(rng: random.Random) -> Case:
    """Sound records under a header that states any largest timestamp, looked at in passing."""
    batch = build_batch(random_records(rng), codec=rng.choice(list(Codec)))
    header = parse_header(batch)
    header.max_timestamp = rng.choice([-1, 0, NOW_MS, NOW_MS - 1, NOW_MS + 5_001, (1 << 63) - 1])
    rules = replace(random_rules(rng), check_records=False, codec=None, magic=MAGIC_V2)
    return Case(bytes(pack_batch(header, bytes(batch[61:]))), rules)


def test_a_stated_timestamp_is_believed_no_more_than_by_kafka() -> None:
    rng = random.Random(8)
    outcomes = outcomes_of([lying(rng) for _ in range(600)])
    assert {"ok", "InvalidTimestampException"} <= outcomes


def damaged(rng: random.Random) -> Case:
    """A batch whose records were changed at random, with a CRC that fits all the same."""
    case = random_case(rng)
    data = bytearray(case.data)
    header = parse_header(data)
    start = header.position + (61 if header.magic == MAGIC_V2 else 18)
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(start, header.end)] = rng.randrange(256)
    crc_at = 17 if header.magic == MAGIC_V2 else 12
    data[crc_at : crc_at + 4] = compute_crc(data, header).to_bytes(4, "big")
    return Case(bytes(data), case.rules)


def test_damaged_records_are_refused_where_kafka_refuses_them() -> None:
    """We may refuse more: Kafka does not look into every record that it lets stay in place."""
    rng = random.Random(2)
    cases = [damaged(rng) for _ in range(1500)]
    accepted = 0
    for case, answer in zip(cases, ask_kafka([c.question() for c in cases]), strict=True):
        refused = answer.startswith(("error\tInvalidRecord", "error\tCorruptRecord"))
        try:
            data, _ = lead(case)
        except StorageError:
            continue
        assert not refused, (case, answer)
        accepted += 1
        assert len(comparable(data)) > 0
    assert accepted > 100


@pytest.mark.parametrize("magic", [0, 1])
def test_down_conversion_is_kafkas(magic: int) -> None:
    rng = random.Random(magic)
    questions, ours = [], []
    for _ in range(300):
        data = b"".join(stored(rng) for _ in range(rng.randint(1, 3)))
        first_offset = rng.randint(98, 106)
        questions.append(f"convert\t{data.hex()}\t{magic}\t{first_offset}")
        ours.append(down_convert(data, magic, first_offset))
    for mine, answer in zip(ours, ask_kafka(questions), strict=True):
        verdict, data, _ = answer.split("\t")
        assert verdict == "ok"
        assert comparable(mine) == comparable(bytes.fromhex(data))


def stored(rng: random.Random) -> bytes:
    """A batch as it lies in a log: valid, with its offsets, any format that can go down."""
    while True:
        case = random_case(rng)
        try:
            data, _ = lead(case)
        except StorageError:
            continue
        if all(header.codec != Codec.ZSTD for header in walk(data)):
            return bytes(data)
