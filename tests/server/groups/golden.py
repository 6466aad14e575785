"""__consumer_offsets as Apache Kafka wrote it, and what its own tool says is in there."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

LOGS = Path(__file__).resolve().parents[4] / "shared" / "golden" / "logs"
VERSIONS = ("3.9.1", "4.3.1")


def unpack(version: str, into: Path) -> Path:
    """Unpack the partitions for a test to work on; skip where there are none."""
    archive = LOGS / version / "consumer_offsets.tar.gz"
    if not archive.is_file():
        pytest.skip("the golden data is not beside the repository (../shared/golden)")
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    return into


def dumped_batches(version: str) -> list[tuple[str, dict[str, Any]]]:
    """(partition directory, batch as kafka-dump-log shows it), in the order of the logs."""
    manifest = json.loads((LOGS / version / "consumer_offsets.json").read_text())
    return [
        (name.split("/")[0], batch)
        for name, content in sorted(manifest["files"].items())
        if name.endswith(".log")
        for batch in content.get("batches", ())
    ]


def key_and_payload(line: str) -> tuple[Any, Any]:
    """Key and value of a record that the tool could decode, as JSON; None for a tombstone."""
    _, _, rest = line.partition(" key: ")
    key, _, payload = rest.partition(" payload: ")
    return json.loads(key), None if payload == "<DELETE>" else json.loads(payload)
