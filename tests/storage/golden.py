"""Log directories that Apache Kafka wrote: `../shared/golden/logs`, beside the repository."""

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

LOGS = Path(__file__).resolve().parents[3] / "shared" / "golden" / "logs"
CASES = sorted(
    (archive.parent.name, archive.name.removesuffix(".tar.gz"))
    for archive in LOGS.glob("*/*.tar.gz")
)
"""Every (Kafka version, case) there is; empty where the golden data is not at hand."""


def unpack(version: str, case: str, into: Path) -> Path:
    """Unpack a case for a test to work on, and return the directory; skip without it."""
    archive = LOGS / version / f"{case}.tar.gz"
    if not archive.is_file():
        pytest.skip("the golden data is not beside the repository (../shared/golden)")
    target = into / f"{version}-{case}"
    target.mkdir()
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    return target


@cache
def manifest(version: str, case: str) -> dict[str, Any]:
    """What Kafka's own tools say is in a case."""
    content: dict[str, Any] = json.loads((LOGS / version / f"{case}.json").read_text())
    return content
