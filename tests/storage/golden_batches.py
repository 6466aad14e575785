"""The `.log` files of a golden case in memory, beside what the manifest says is in them."""

import tarfile
from dataclasses import dataclass
from typing import Any

import pytest

from tests.storage.golden import LOGS, manifest

VERSIONS = ("3.9.1", "4.3.1")


@dataclass(frozen=True)
class GoldenLogs:
    """One case: each `.log` file's bytes by its path in the archive, and the manifest."""

    files: dict[str, bytes]
    manifest: dict[str, Any]

    def batches(self, path: str) -> list[dict[str, Any]]:
        """What Kafka's dump tool said about each batch of a file."""
        return list(self.manifest["files"][path]["batches"])

    def sent(self, topic: str, partition: int) -> dict[int, dict[str, Any]]:
        """What clients sent to a partition and had acknowledged, by offset."""
        return {
            row["offset"]: row
            for row in self.manifest["sent"]
            if (row["topic"], row["partition"]) == (topic, partition) and row["offset"] is not None
        }


def golden_logs(version: str, case: str) -> GoldenLogs:
    """Open one case, or skip the test where it is not."""
    archive = LOGS / version / f"{case}.tar.gz"
    if not archive.is_file():
        pytest.skip(f"no golden case {version}/{case} beside the repository (../shared/golden)")
    with tarfile.open(archive) as tar:
        names = sorted(name for name in tar.getnames() if name.endswith(".log"))
        files = {name: _read(tar, name) for name in names}
    return GoldenLogs(files, manifest(version, case))


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    assert file is not None
    with file:
        return file.read()


def golden_bytes(value: object) -> bytes | None:
    """A value of the manifest's `sent` rows: Latin-1 text, null, or a repeated unit."""
    if value is None:
        return None
    if isinstance(value, dict):
        unit, count = value["repeat"]
        return str(unit).encode("latin-1") * int(count)
    return str(value).encode("latin-1")
