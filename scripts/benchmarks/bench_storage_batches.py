"""What the work on batches costs before an append: header, CRC, stamp, validation, records.

`scripts/bench storage_batches` prints microseconds of CPU time, minimum, median and
maximum of several rounds. The aims are those of issue 4's append budgets, of which batches
are a part: 6 µs over the bare write for a batch of 200 B, 12 µs for one of 16 KB.
"""

import time
from collections.abc import Callable
from statistics import median

from barnabas.storage.append.rules import AppendRules
from barnabas.storage.append.validation import validate_as_leader
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec, compress, decompress
from barnabas.storage.batch.header import crc_is_valid, parse_header, stamp
from barnabas.storage.batch.records import Record, decode_batch, records_data, walk_frames

ROUNDS = 9
ROUND_SECONDS = 0.05
NOW_MS = 1_700_000_000_000


def measure(work: Callable[[], object]) -> list[float]:
    """Seconds of CPU time a call, one figure per round, lowest first."""
    calls = 1
    while True:
        started = time.process_time()
        for _ in range(calls):
            work()
        if time.process_time() - started > ROUND_SECONDS / 4:
            break
        calls *= 2
    figures = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(calls):
            work()
        figures.append((time.process_time() - started) / calls)
    return sorted(figures)


def report(label: str, work: Callable[[], object], divide_by: int = 1) -> None:
    figures = [figure * 1e6 / divide_by for figure in measure(work)]
    print(f"{label:46} {figures[0]:9.2f} {median(figures):9.2f} {figures[-1]:9.2f}")


def sample(value_bytes: int, count: int) -> list[Record]:
    value = (b"the quick brown fox %d " * 60)[:value_bytes]
    return [Record(i, NOW_MS + i, b"key%05d" % i, value) for i in range(count)]


def report_batch(name: str, value_bytes: int, count: int) -> None:
    batch = build_batch(sample(value_bytes, count))
    header = parse_header(batch)
    rules = AppendRules()
    prefix = bytes(batch[:16])

    def validate() -> None:
        batch[:16] = prefix
        validate_as_leader(
            batch, rules, next_offset=5, leader_epoch=1, now_ms=NOW_MS, one_v2_batch=True
        )

    name = f"{name} ({len(batch):,} bytes)"
    report(f"{name}: parse header", lambda: parse_header(batch))
    report(f"{name}: CRC", lambda: crc_is_valid(batch, header))
    report(f"{name}: stamp", lambda: stamp(batch, header, 0, 1))
    report(f"{name}: validate as leader", validate)


def report_records(value_bytes: int) -> None:
    count = 1000
    records = sample(value_bytes, count)
    batch = build_batch(records)
    header = parse_header(batch)
    data = records_data(batch, header)
    name = f"record of {value_bytes} B"
    report(f"{name}: find its parts", lambda: list(walk_frames(data, count)), count)
    report(f"{name}: decode", lambda: list(decode_batch(batch, header)), count)
    report(f"{name}: build", lambda: build_batch(records), count)


def report_codecs() -> None:
    batch = build_batch(sample(1000, 1000))
    data = records_data(batch, parse_header(batch))
    for codec in list(Codec)[1:]:
        packed = memoryview(compress(codec, data))
        name = f"{codec.label}, 1 MB"
        report(f"{name}: compress", lambda codec=codec: compress(codec, data))
        report(f"{name}: decompress", lambda codec=codec, p=packed: decompress(codec, p))


def main(arguments: list[str]) -> int:
    print(f"{'µs of CPU':46} {'min':>9} {'median':>9} {'max':>9}")
    report_batch("one small record", 120, 1)
    report_batch("16 KB", 100, 145)
    report_batch("1 MB", 1000, 1000)
    report_records(100)
    report_records(1000)
    report_codecs()
    return 0
