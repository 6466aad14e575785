"""`barnabas log dump --json` prints of all that Apache Kafka wrote what Kafka's own tool did."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.log_tools.command import Row, data_directories, run_log
from tests.server.cli.log_tools.manifest_rows import (
    batch_facts,
    check_internal_record,
    dumped_line,
    dumped_record,
    dumped_text,
    record_facts,
)
from tests.storage.golden import CASES, manifest, unpack
from tests.storage.golden_batches import golden_bytes

DAMAGED = "torn-1-damaged"


def dumped_files(root: Path, *options: str) -> dict[str, list[Row]]:
    """The rows of each file, by its name in the manifest."""
    files: dict[str, list[Row]] = {}
    for directory in data_directories(root):
        ran = run_log("dump", directory, "--json", *options)
        prefix = "" if directory == root else f"{directory.name}/"
        for row in ran.rows:
            rows = files.setdefault(prefix + row["file"], [])
            if row["type"] != "file":
                rows.append(row)
            else:
                assert row["size_bytes"] == (directory / row["file"]).stat().st_size
        damaged = any(row["type"] == "error" for row in ran.rows)
        assert ran.code == (1 if damaged else 0)
    return files


@pytest.mark.parametrize(("version", "case"), [case for case in CASES if case[1] != DAMAGED])
def test_prints_what_the_manifest_says(version: str, case: str, tmp_path: Path) -> None:
    root = unpack(version, case, tmp_path)
    found = dumped_files(root)
    files = manifest(version, case)["files"]
    assert set(found) == set(files)
    for name, facts in files.items():
        assert not [row for row in found[name] if row["type"] == "error"], name
        check_file(name, facts, found[name])


def check_file(name: str, facts: dict[str, Any], rows: list[Row]) -> None:
    """The tool shows one entry of zeros for an index file that is preallocated: not ours."""
    if name.endswith(".log"):
        check_log(facts.get("batches", []), rows)
    elif name.endswith(".index"):
        wanted = [entry for entry in facts.get("entries", []) if entry[1] > 0]
        assert [[row["offset"], row["position"]] for row in rows] == wanted
    elif name.endswith(".timeindex"):
        wanted = [entry for entry in facts.get("entries", []) if entry[0] > 0]
        assert [[row["timestamp"], row["offset"]] for row in rows] == wanted
    elif name.endswith((".txnindex", ".snapshot")):
        assert [dumped_line(row) for row in rows] == facts.get("dump", [])
    elif name.endswith("meta.properties"):
        check_meta(facts["text"], rows)
    elif name.endswith(".kafka_cleanshutdown"):
        (row,) = rows
        assert facts["text"] == [f'{{"version":0,"brokerEpoch":{row["broker_epoch"]}}}']
    elif "text" in facts and facts["bytes"]:
        assert dumped_text(rows) == facts["text"]


def check_log(batches: list[dict[str, Any]], rows: list[Row]) -> None:
    dumped = [row for row in rows if row["type"] == "batch"]
    assert len(dumped) == len(batches)
    for batch, row in zip(batches, dumped, strict=True):
        facts = batch_facts(batch)
        assert {name: row[name] for name in facts} == facts
    records = [row for row in rows if row["type"] == "record"]
    wanted = [record for batch in batches for record in batch.get("records", [])]
    assert len(records) == len(wanted)
    for record, row in zip(wanted, records, strict=True):
        if isinstance(record, str):
            check_internal_record(record, row)
        else:
            assert dumped_record(row) == record_facts(record)


def check_meta(text: list[str], rows: list[Row]) -> None:
    (row,) = rows
    named = {"broker_id": ("broker.id", "node.id"), "cluster_id": ("cluster.id",)}
    named |= {"directory_id": ("directory.id",), "version": ("version",)}
    for ours, names in named.items():
        said = [line.split("=")[1] for line in text if line.startswith(names)]
        assert said == ([] if row[ours] is None else [str(row[ours])])


SENT = [case for case in CASES if case[1] != DAMAGED and manifest(*case)["sent"]]


@pytest.mark.parametrize(("version", "case"), SENT)
def test_prints_what_clients_sent(version: str, case: str, tmp_path: Path) -> None:
    root = unpack(version, case, tmp_path)
    found = dumped_files(root, "--keys", "base64", "--values", "base64")
    sent = {
        (f"{row['topic']}-{row['partition']}", row["offset"]): row
        for row in manifest(version, case)["sent"]
        if row.get("leader") is None
    }
    seen = 0
    for name, rows in found.items():
        for row in rows:
            wanted = sent.get((Path(name).parent.name, row.get("offset")))
            if row["type"] == "record" and "control" not in row and wanted is not None:
                assert [decoded(row["key"]), decoded(row["value"])] == [
                    golden_bytes(wanted["key"]),
                    golden_bytes(wanted["value"]),
                ]
                headers = [[key.encode(), decoded(value)] for key, value in row["headers"]]
                assert headers == [
                    [golden_bytes(key), golden_bytes(value)]
                    for key, value in wanted.get("headers") or []
                ]
                seen += 1
    assert seen > 0 or case.startswith("epochs")


def decoded(value: str | None) -> bytes | None:
    return None if value is None else b64decode(value)


@pytest.mark.parametrize("version", sorted({version for version, _ in CASES}))
def test_says_where_the_damage_is(version: str, tmp_path: Path) -> None:
    found = dumped_files(unpack(version, DAMAGED, tmp_path))
    errors = {
        name: [(row.get("position"), row["reason"]) for row in rows if row["type"] == "error"]
        for name, rows in found.items()
    }
    where = {name: what for name, what in errors.items() if what}
    assert set(where) == {
        "torn-crc-0/00000000000000000000.log",
        "torn-cut-0/00000000000000000000.log",
        "torn-zeros-0/00000000000000000000.log",
        "torn-index-0/00000000000000000000.index",
        "torn-segments-0/00000000000000000000.log",
        "torn-snapshot-0/00000000000000000008.snapshot",
    }
    assert where["torn-crc-0/00000000000000000000.log"][0][0] == 470
    assert where["torn-cut-0/00000000000000000000.log"][0][0] == 470
    assert where["torn-zeros-0/00000000000000000000.log"][0][0] == 568
    assert where["torn-segments-0/00000000000000000000.log"][0][0] == 282
