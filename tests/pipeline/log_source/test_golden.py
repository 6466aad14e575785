"""Directories that Apache Kafka wrote, read without Spark: what was sent, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.log_source.errors import DamagedSegment
from tests.storage.golden import CASES, manifest, unpack
from tests.storage.golden_batches import golden_bytes

from .reads import Row, rows

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INTERNAL = ("consumer_offsets", "transaction_state")
CLIENTS_ONLY = [
    case for case in CASES if case[1] not in (*INTERNAL, "logdir") and case[1] != "torn-1-damaged"
]


def directories(root: Path) -> list[Path]:
    return sorted(root.glob("b[0-9]")) or [root]


def place(row: Row) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def said_of(version: str, case: str) -> dict[tuple[str, int, int], dict[str, Any]]:
    """Of every record that Kafka's own tool found on the disk: its time and its batch."""
    found = {}
    for name, file in manifest(version, case)["files"].items():
        if not name.endswith(".log"):
            continue
        topic, _, partition = Path(name).parent.name.rpartition("-")
        for batch in file["batches"]:
            for record in batch.get("records", []):
                facts = {"batch": batch, "record": record, "directory": str(Path(name).parent)}
                found[topic, int(partition), record[0]] = facts
    return found


@pytest.mark.parametrize(("version", "case"), CLIENTS_ONLY)
def test_every_record_is_as_it_was_sent(version: str, case: str, tmp_path: Path) -> None:
    root = unpack(version, case, tmp_path)
    sent = {place(row): row for row in manifest(version, case)["sent"] if row["offset"] is not None}
    found = rows(*directories(root), includeHeaders="true")
    assert found
    for row in found:
        if place(row) not in sent:  # torn-2-recovered does not say what was sent
            assert not sent or case.startswith("epochs"), place(row)
            continue
        wanted = sent[place(row)]
        if case.startswith("epochs") and row["key"] != golden_bytes(wanted["key"]):
            continue  # the other leader's, checked below
        assert row["key"] == golden_bytes(wanted["key"])
        assert row["value"] == golden_bytes(wanted["value"])
        headers = [
            (golden_bytes(key), golden_bytes(value)) for key, value in wanted.get("headers") or []
        ]
        assert [(each["key"].encode(), each["value"]) for each in row["headers"] or []] == headers


@pytest.mark.parametrize(("version", "case"), CLIENTS_ONLY)
def test_the_records_on_the_disk_are_read_once(version: str, case: str, tmp_path: Path) -> None:
    """Against Kafka's tool: offsets, times and their type; markers are not rows."""
    if case.startswith("epochs"):
        pytest.skip("three directories of the same partitions: below")
    found = {place(row): row for row in rows(unpack(version, case, tmp_path))}
    low = manifest(version, case).get("low_watermarks", {})
    wanted = {
        key: facts
        for key, facts in said_of(version, case).items()
        if not facts["batch"].get("isControl") and key[2] >= low.get(f"{key[0]}-{key[1]}", 0)
    }
    assert found.keys() == wanted.keys()
    for key, facts in wanted.items():
        batch, time = facts["batch"], facts["record"][1]
        kind = 1 if "LogAppendTime" in batch else 0
        if batch["magic"] == 0:
            kind, time = -1, -1
        assert found[key]["timestampType"] == kind
        assert (found[key]["timestamp"] - EPOCH) // timedelta(milliseconds=1) == time


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_only_what_was_committed(version: str, tmp_path: Path) -> None:
    root = unpack(version, "transactions", tmp_path)
    sent = manifest(version, "transactions")["sent"]
    wanted = {place(row) for row in sent if row["outcome"] in ("commit", "plain")}
    found = rows(root, kafka__isolation__level="read_committed")
    assert {place(row) for row in found} == wanted
    assert len(found) < len(rows(root))


@pytest.mark.parametrize(("version", "case"), [each for each in CASES if each[1] in INTERNAL])
def test_internal_topics_are_read_where_they_are_named(
    version: str, case: str, tmp_path: Path
) -> None:
    root = unpack(version, case, tmp_path)
    assert rows(root) == []
    lines = [
        record
        for file in manifest(version, case)["files"].values()
        for batch in file.get("batches", [])
        for record in batch.get("records", [])
        if not batch.get("isControl")
    ]
    found = rows(root, subscribe=f"__{case}")
    assert len(found) == len(lines) > 0


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_control_records_and_lineage(version: str, tmp_path: Path) -> None:
    root = unpack(version, "transactions", tmp_path)
    found = {place(row): row for row in rows(root, includeControl="true", includeLineage="true")}
    wanted = {
        key: each for key, each in said_of(version, "transactions").items() if key[0] == "txn"
    }
    assert {key for key in found if key[0] == "txn"} == wanted.keys()
    for key, facts in wanted.items():
        batch, row = facts["batch"], found[key]
        assert row["controlType"] == (facts["record"][3] if batch["isControl"] else None)
        assert row["leaderEpoch"] == batch["partitionLeaderEpoch"]
        assert row["batchPosition"] == batch["position"]
        assert Path(row["segment"]).parent == root / facts["directory"]


def test_of_several_replicas_the_newest_leader_epoch_is_read(tmp_path: Path) -> None:
    """Broker 1's log of `div` is longer; an unclean election has made it void."""
    root = unpack("3.9.1", "epochs-1-diverged", tmp_path)
    both = directories(root)
    found = [row for row in rows(*both, includeLineage="true") if row["topic"] == "div"]
    alone = [row for row in rows(both[1], includeLineage="true") if row["topic"] == "div"]
    assert [place(row) for row in found] == [place(row) for row in alone]
    assert {Path(row["segment"]).parts[-3] for row in found} == {"b2"}


DAMAGED = ("torn-cut", "torn-crc", "torn-zeros", "torn-index", "torn-snapshot")


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
@pytest.mark.parametrize("topic", DAMAGED)
def test_a_damaged_end_is_where_kafka_has_cut_it(version: str, topic: str, tmp_path: Path) -> None:
    root = unpack(version, "torn-1-damaged", tmp_path)
    found = rows(root, subscribe=topic)
    consumed = manifest(version, "torn-2-recovered")["consumed_offsets"][topic]
    assert [row["offset"] for row in found] == consumed


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_damage_before_the_last_segment_is_said(version: str, tmp_path: Path) -> None:
    """Kafka drops the second segment; what is whole in it can be had all the same."""
    root = unpack(version, "torn-1-damaged", tmp_path)
    with pytest.raises(DamagedSegment, match=r"torn-segments-0/0+\.log is damaged at position \d+"):
        rows(root, subscribe="torn-segments")
    found = rows(root, subscribe="torn-segments", failOnDataLoss="false")
    assert [row["offset"] for row in found] == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
