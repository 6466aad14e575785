"""Numbered records: what was written can be told from each, and what is left can be checked."""

from collections.abc import Iterator, Mapping
from itertools import islice
from random import Random

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import crc_is_valid
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.log.log import Log

from .running import require, wall_ms

NUMBER_BYTES = 20
FILLER = Random(7).randbytes(1 << 20)


def fill(
    log: Log,
    numbers: range,
    keys: int,
    value_bytes: int,
    per_batch: int,
    timestamp_ms: int | None = None,
) -> dict[int, int]:
    """Append records with these numbers, number n under key n modulo `keys`: the last of each."""
    last = {}
    left = iter(numbers)
    now_ms = wall_ms() if timestamp_ms is None else timestamp_ms
    while some := list(islice(left, per_batch)):
        records = [
            Record(
                at,
                now_ms,
                b"%d" % (number % keys),
                b"%0*d" % (NUMBER_BYTES, number) + FILLER[: value_bytes - NUMBER_BYTES],
            )
            for at, number in enumerate(some)
        ]
        log.append_as_leader(build_batch(records), 0, now_ms)
        log.update_high_watermark(log.log_end_offset)
        last.update({number % keys: number for number in some})
    return last


def found(log: Log) -> Iterator[tuple[int, int, int]]:
    """(offset, key, number) of every record, all bytes checked."""
    for segment in log.segments:
        if not segment.size_bytes:
            continue
        for _, header, chunk in read_batches(segment.log_file.open(), 0, segment.size_bytes):
            require(crc_is_valid(chunk, header), f"CRC at {header.base_offset}")
            for record in decode_batch(chunk, header):
                require(record.key is not None and record.value is not None, record.offset)
                assert record.key is not None and record.value is not None
                filler = FILLER[: len(record.value) - NUMBER_BYTES]
                require(record.value[NUMBER_BYTES:] == filler, f"bytes at {record.offset}")
                yield record.offset, int(record.key), int(record.value[:NUMBER_BYTES])


def check(log: Log, last: Mapping[int, int], first_number_at: int = 0) -> int:
    """Every key's last record is there, and each record where it was put: how many there are."""
    count = 0
    newest: dict[int, int] = {}
    previous = -1
    for offset, key, number in found(log):
        require(offset == number + first_number_at, f"number {number} at offset {offset}")
        require(offset > previous, f"{offset} after {previous}")
        previous = offset
        newest[key] = number
        count += 1
    require(newest == last, f"{len(last)} keys were written, {len(newest)} are as they were")
    return count
