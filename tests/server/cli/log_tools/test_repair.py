"""`barnabas log repair`: a dry run says what recovery does, and only the real one does it."""

import json
import logging
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.disk.fs import REAL
from tests.server.cli.log_tools.command import run_log
from tests.server.cli.log_tools.written import contents, segment_files, write_log
from tests.storage.golden import CASES, manifest, unpack

VERSIONS = sorted({version for version, _ in CASES})
DENSE = ("--set", "index.interval.bytes=100")


@pytest.mark.parametrize("version", VERSIONS)
def test_does_what_kafka_did(version: str, tmp_path: Path) -> None:
    """A dry run changes nothing, and names exactly the files that recovery then changes."""
    root = unpack(version, "torn-1-damaged", tmp_path)
    before = contents(root)
    dry = run_log("repair", root, "--dry-run", "--json", *DENSE)
    assert contents(root) == before
    announced = {row["name"]: row for row in dry.rows if row["type"] == "change"}
    done = run_log("repair", root, "--json", *DENSE)
    assert (dry.code, done.code) == (1, 1)
    assert dry.output == done.output
    after = contents(root)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == set(announced)
    for name, row in announced.items():
        sizes = [len(files[name]) if name in files else None for files in (before, after)]
        assert [row["size_before"], row["size_after"]] == sizes
    assert_recovered_like_kafka(version, root)
    assert run_log("verify", root).code == 0
    assert run_log("repair", root, "--dry-run", *DENSE).output.startswith("nothing to do")


def assert_recovered_like_kafka(version: str, root: Path) -> None:
    for name, facts in manifest(version, "torn-2-recovered")["files"].items():
        if name.endswith((".log", ".index", ".timeindex", ".snapshot")):
            assert sha256((root / name).read_bytes()).hexdigest() == facts["sha256"], name


def test_says_what_it_would_do(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    write_log(directory)
    assert run_log("repair", directory, "--dry-run", *DENSE) == (
        0,
        "nothing to do (partitions: 1)\n",
        "",
    )
    log = segment_files(directory, "log")[1]
    log.write_bytes(log.read_bytes()[:300])
    ran = run_log("repair", tmp_path, "--dry-run", *DENSE)
    assert ran.code == 1
    lines = ran.output.splitlines()
    assert "orders-0: cut 54 bytes behind offset 10" in lines
    assert "orders-0: segment 14 is dropped" in lines
    assert "  orders-0/00000000000000000007.log would be cut from 300 to 246 bytes" in lines
    assert "  orders-0/00000000000000000014.log would be removed, 410 bytes" in lines
    assert "  orders-0/00000000000000000007.index would be made anew, 24 to 8 bytes" in lines


def test_what_storage_logs_is_kept_back_no_longer_than_the_repair(tmp_path: Path) -> None:
    logger = logging.getLogger("barnabas.storage")
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        write_log(tmp_path / "orders-0")
        assert run_log("repair", tmp_path, "--dry-run", *DENSE).code == 0
        assert logger.level == logging.INFO
    finally:
        logger.setLevel(before)


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_gap_between_segments_costs_nothing(tmp_path: Path, policy: str) -> None:
    directory = tmp_path / "orders-0"
    write_log(directory)
    for path in list(directory.glob("00000000000000000007.*")):
        path.unlink()
    setting = ("--set", f"cleanup.policy={policy}")
    kept = run_log("repair", directory, "--dry-run", *DENSE, *setting).output
    assert "00000000000000000014.log" not in kept and "is dropped" not in kept


def test_finishes_a_compaction(tmp_path: Path) -> None:
    """A `.swap` segment takes the place of the segments it covers, as at a broker's start."""
    directory = tmp_path / "orders-0"
    write_log(directory)
    for path in list(directory.glob("00000000000000000000.*")):
        shutil.copy(path, f"{path}.swap")
    ran = run_log("repair", directory, "--dry-run", "--json", *DENSE)
    changes = {row["name"]: row["action"] for row in ran.rows if row["type"] == "change"}
    assert set(changes.values()) == {"remove"}
    assert {name.rpartition(".")[2] for name in changes} == {"swap"}
    assert len(segment_files(directory, "swap")) == 3


def test_keeps_out_of_a_running_brokers_directory(tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0")
    lock = DirectoryLock(REAL, str(tmp_path))
    try:
        refused = run_log("repair", tmp_path / "orders-0")
        dry = run_log("repair", tmp_path / "orders-0", "--dry-run", *DENSE)
    finally:
        lock.release()
    assert refused.code == 2
    assert "in use by another broker" in refused.errors
    assert dry.code == 0


def test_a_disk_that_fails_is_one_sentence(tmp_path: Path) -> None:
    """Here because there is a directory where recovery needs to write a file."""
    directory = tmp_path / "orders-0"
    write_log(directory)
    segment_files(directory, "snapshot")[-1].unlink()
    (directory / "00000000000000000022.snapshot").mkdir()
    ran = run_log("repair", directory)
    assert ran.code == 2
    assert ran.errors.startswith("barnabas: ")
    assert ran.errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing",), "there is no such directory"),
        (("empty",), "neither a partition's directory"),
        (("orders-0", "--set", "segment.bytes=x"), "segment.bytes"),
        (("orders-0", "--set", "segment.bytes"), "NAME=VALUE"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0")
    (tmp_path / "empty").mkdir()
    ran = run_log("repair", tmp_path / arguments[0], *arguments[1:], "--dry-run")
    assert ran.code == 2
    assert said in ran.errors


def test_a_read_only_directory(tmp_path: Path) -> None:
    """A dry run needs nothing but to read: here as another process that may not write."""
    write_log(tmp_path / "orders-0")
    for path in (tmp_path / "orders-0").iterdir():
        path.chmod(0o444)
    ran = subprocess.run(
        [sys.executable, "-m", "barnabas", "log", "repair", "--dry-run", "--json", *DENSE,
         str(tmp_path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(ran.stdout) == {"type": "summary", "partitions": 1, "changes": 0}
