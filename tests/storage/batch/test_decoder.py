"""Every batch in the golden directories decodes to what Kafka's dump tool and the clients said."""

from typing import Any

import pytest

from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader, crc_is_valid, walk
from barnabas.storage.batch.records import Record, decode_all, decode_batch
from tests.storage.golden_batches import VERSIONS, GoldenLogs, golden_bytes, golden_logs

BOTH = ("codecs", "plain", "idempotent", "transactions", "logstart")
COMPACTED = ("compacted-before", "compacted-after", "compacted-after2")
CASES = [(version, case) for version in VERSIONS for case in BOTH + COMPACTED] + [
    ("3.9.1", case) for case in ("legacy-formats", "epochs-1-diverged", "epochs-2-healed")
]
SENT = [(version, case) for version in VERSIONS for case in BOTH[:4]] + [
    ("3.9.1", "legacy-formats")
]


@pytest.fixture(params=CASES, ids="-".join)
def golden(request: pytest.FixtureRequest) -> GoldenLogs:
    version, case = request.param
    return golden_logs(version, case)


def expected_header(batch: dict[str, Any]) -> dict[str, object]:
    """The manifest's row in this room's names; rows of formats 0 and 1 are shorter."""
    row: dict[str, object] = {
        "position": batch["position"],
        "size_bytes": batch["size"],
        "magic": batch["magic"],
        "crc": batch["crc"],
        "codec": Codec[batch["compresscodec"].upper()],
        "is_log_append_time": "LogAppendTime" in batch,
    }
    timestamp_key = {"CreateTime", "LogAppendTime", "NoTimestampType"} & set(batch)
    row["max_timestamp"] = batch[timestamp_key.pop()]
    if batch["magic"] < MAGIC_V2:
        return row | {"last_offset": batch["offset"]}
    return row | {
        "base_offset": batch["baseOffset"],
        "last_offset": batch["lastOffset"],
        "record_count": batch["count"],
        "base_sequence": batch["baseSequence"],
        "last_sequence": batch["lastSequence"],
        "producer_id": batch["producerId"],
        "producer_epoch": batch["producerEpoch"],
        "partition_leader_epoch": batch["partitionLeaderEpoch"],
        "is_transactional": batch["isTransactional"],
        "is_control": batch["isControl"],
        "delete_horizon_ms": batch["deleteHorizonMs"],
    }


def expected_records(header: BatchHeader, batch: dict[str, Any]) -> list[list[object]]:
    missing = -1
    return [
        [offset, missing if timestamp is None else timestamp, -1 if sequence is None else sequence]
        for offset, timestamp, sequence, *_ in batch.get("records", [])
    ]


def test_headers_and_records_equal_the_dump(golden: GoldenLogs) -> None:
    for path in golden.files:
        data, batches = golden.files[path], golden.batches(path)
        headers = list(walk(data, partial_tail=True))
        assert len(headers) == len(batches)
        for header, batch in zip(headers, batches, strict=True):
            expected = expected_header(batch)
            assert {name: getattr(header, name) for name in expected} == expected
            assert crc_is_valid(data, header)
            records = [[r.offset, r.timestamp, r.sequence] for r in decode_batch(data, header)]
            assert records == expected_records(header, batch)


def test_control_records_equal_the_dump(golden: GoldenLogs) -> None:
    for path in golden.files:
        data = golden.files[path]
        for header, batch in zip(walk(data), golden.batches(path), strict=True):
            if not header.is_control or not header.record_count:
                continue
            markers = [parse_control(record) for record in decode_batch(data, header)]
            assert markers == [
                EndTransactionMarker(kind == "COMMIT", epoch)
                for *_, kind, epoch in batch["records"]
            ]


@pytest.mark.parametrize(("version", "case"), SENT)
def test_data_equals_what_clients_sent(version: str, case: str) -> None:
    golden = golden_logs(version, case)
    compared = 0
    for path in golden.files:
        topic, _, partition = path.split("/")[0].rpartition("-")
        sent = golden.sent(topic, int(partition))
        for record in data_records(golden.files[path]):
            if record.offset in sent:
                row = sent[record.offset]
                assert record.key == golden_bytes(row["key"])
                assert record.value == golden_bytes(row["value"])
                assert list(record.headers) == headers_of(row)
                if record.timestamp != -1 and topic != "plain-appendtime":
                    assert record.timestamp == row["timestamp"]
                compared += 1
    acknowledged = [row for row in golden.manifest["sent"] if row["offset"] is not None]
    assert compared == len(acknowledged) > 0


def data_records(data: bytes) -> list[Record]:
    return [
        record
        for header in walk(data)
        if not header.is_control
        for record in decode_batch(data, header)
    ]


def headers_of(row: dict[str, Any]) -> list[tuple[str, bytes | None]]:
    return [
        (key.encode("latin-1").decode(), golden_bytes(value))
        for key, value in row.get("headers") or []
    ]


def test_decode_all_runs_over_batches_of_all_formats() -> None:
    golden = golden_logs("3.9.1", "legacy-formats")
    data = golden.files["mixed-0/00000000000000000000.log"]
    assert [header.magic for header in walk(data)] == [0, 0, 1, 1, 2, 2]
    assert [record.offset for record in decode_all(data)] == list(range(18))
