"""Batches we build from decoded records are the bytes that Kafka wrote."""

import pytest
from crc32c import crc32c

from barnabas.storage.batch.builder import (
    build_batch,
    build_empty_batch,
    build_end_transaction_marker,
)
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader, crc_is_valid, parse_header, walk
from barnabas.storage.batch.records import Record, decode_batch, records_data, walk_frames
from barnabas.storage.errors import InvalidRecord
from tests.storage.golden_batches import VERSIONS, golden_logs

CASES = ["codecs", "plain", "idempotent", "transactions", "compacted-before", "compacted-after2"]


def rebuild(data: bytes, header: BatchHeader) -> bytearray:
    if header.record_count == 0:
        return build_empty_batch(
            header.base_offset,
            header.last_offset,
            max_timestamp=header.max_timestamp,
            leader_epoch=header.partition_leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            is_transactional=header.is_transactional,
            is_control=header.is_control,
            is_log_append_time=header.is_log_append_time,
        )
    return build_batch(
        original_records(data, header),
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        codec=header.codec,
        leader_epoch=header.partition_leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.is_log_append_time else None,
        delete_horizon_ms=header.delete_horizon_ms,
    )


def original_records(data: bytes, header: BatchHeader) -> list[Record]:
    """Decoded records with their own timestamps, which LogAppendTime hides from readers."""
    records = list(decode_batch(data, header))
    frames = walk_frames(records_data(data, header), header.record_count)
    for record, (_, _, timestamp_delta, *_) in zip(records, frames, strict=True):
        record.timestamp = header.base_timestamp + timestamp_delta
    return records


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES)
def test_rebuilt_batches_equal_kafkas(version: str, case: str) -> None:
    compared = 0
    for data in golden_logs(version, case).files.values():
        for header in walk(data):
            original = data[header.position : header.end]
            rebuilt = bytes(rebuild(data, header))
            if header.codec == Codec.NONE:
                assert rebuilt == original
            else:
                again = parse_header(rebuilt)
                assert records_data(rebuilt, again) == records_data(data, header)
                assert [*original[:8], *original[12:17], *original[21:61]] == [
                    *rebuilt[:8], *rebuilt[12:17], *rebuilt[21:61]
                ]  # fmt: skip
            assert crc_is_valid(rebuilt, parse_header(rebuilt))
            compared += 1
    assert compared


def test_transaction_marker_equals_kafkas() -> None:
    data = golden_logs("3.9.1", "transactions").files["txn-0/00000000000000000002.log"]
    header = next(header for header in walk(data) if header.is_control)
    marker = build_end_transaction_marker(
        EndTransactionMarker(is_commit=True, coordinator_epoch=0),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        timestamp_ms=header.max_timestamp,
        base_offset=header.base_offset,
        leader_epoch=0,
    )
    assert bytes(marker) == data[header.position : header.end]


def test_known_batch_byte_for_byte() -> None:
    batch = build_batch([Record(7, 1_000, b"k", b"v", (("h", None),))], leader_epoch=3)
    fields = bytes.fromhex(
        "0000" "00000000"  # attributes, last offset delta
        "00000000000003e8" "00000000000003e8"  # base and max timestamp
        "ffffffffffffffff" "ffff" "ffffffff" "00000001"  # producer, sequence, record count
        "16" "00" "00" "00" "026b" "0276" "02" "0268" "01"  # the record
    )  # fmt: skip
    expected = (
        bytes.fromhex("0000000000000007" "0000003d" "00000003" "02")
        + crc32c(fields).to_bytes(4, "big")
        + fields
    )  # fmt: skip
    assert bytes(batch) == expected


def test_log_append_time_stands_in_the_header_only() -> None:
    records = [Record(0, 10, None, b"a"), Record(1, 5, None, b"b")]
    batch = build_batch(records, log_append_time_ms=99)
    header = parse_header(batch)
    assert (header.magic, header.base_timestamp, header.max_timestamp) == (MAGIC_V2, 10, 99)
    assert header.is_log_append_time
    assert [record.timestamp for record in decode_batch(batch, header)] == [99, 99]


def test_kept_offset_range_of_a_cleaned_batch() -> None:
    batch = build_batch([Record(12, 1, b"k", None)], base_offset=10, last_offset=14)
    header = parse_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 14, 1)
    assert [record.offset for record in decode_batch(batch, header)] == [12]


def test_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    batch = build_batch([Record(0, 50, b"k", None)], delete_horizon_ms=2_000)
    header = parse_header(batch)
    assert header.delete_horizon_ms == 2_000
    assert [record.timestamp for record in decode_batch(batch, header)] == [50]


def test_a_field_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidRecord, match="does not fit"):
        build_batch([Record(0, 1, None, b""), Record(1 << 31, 1, None, b"")])
