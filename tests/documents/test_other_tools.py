"""Each line of the table of what rpk, kcat and the kafka-*.sh do is run."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents.other_tools import TASKS, Task

from barnabas.server.testing.broker import Broker

PATIENCE_S = 60
CTRL_C = 130
MEMBER = "as a member of a group"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(settings={"num.partitions": "1"}) as made:
        yield made


@pytest.fixture
def folder(broker: Broker, tmp_path: Path) -> Path:
    """Where the lines find their files, and a broker's data."""
    (tmp_path / "one.bin").write_bytes(b"\x00\xff")
    (tmp_path / "two.bin").write_bytes(b"two")
    (tmp_path / "orders.csv").write_text("id,at\n7,2026-03-01T12:30Z\n")
    (tmp_path / "data").symlink_to(broker.data_dir)
    (tmp_path / "profiles.toml").write_text(f'[local]\nbootstrap = "{broker.bootstrap_servers}"\n')
    command = tmp_path / "bin" / "barnabas"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m barnabas "$@"\n')
    command.chmod(0o755)
    (tmp_path / "address").write_text(broker.bootstrap_servers)
    return tmp_path


def run(folder: Path, task: Task) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", task.here], cwd=folder, env=surroundings(folder),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        timeout=PATIENCE_S,
    )  # fmt: skip


def run_on(broker: Broker, folder: Path, task: Task, count: int) -> str:
    """Let a line go on until it reads and has printed so many lines, and end it by Ctrl-C."""
    broker.requests.clear()
    with subprocess.Popen(
        ["bash", "-c", f"exec env --default-signal=INT {task.here}"], cwd=folder,
        env=surroundings(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        late = threading.Timer(PATIENCE_S, process.kill)
        late.start()
        assert process.stdout is not None
        broker.requests.wait_for("FETCH", timeout_s=PATIENCE_S)
        lines = [process.stdout.readline() for _ in range(count)]
        process.send_signal(signal.SIGINT)
        lines.append(process.stdout.read())
        assert process.wait() == CTRL_C
        late.cancel()
    return b"".join(lines).decode(errors="replace")


def surroundings(folder: Path) -> dict[str, str]:
    return os.environ | {
        "BARNABAS_BOOTSTRAP": (folder / "address").read_text(),
        "BARNABAS_PROFILES": str(folder / "profiles.toml"),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
    }


def test_every_line_does_what_it_says(broker: Broker, folder: Path) -> None:
    printed = {}
    for section, tasks in TASKS.items():
        for task in tasks:
            if not task.ends:
                is_all = task.what == MEMBER
                count = printed["Consume", "all there is, and end"].count("\n") if is_all else 0
                printed[section, task.what] = run_on(broker, folder, task, count)
                continue
            outcome = run(folder, task)
            assert outcome.returncode == 0, (task.here, outcome.stderr)
            assert "Traceback" not in outcome.stderr
            printed[section, task.what] = outcome.stdout
    everything = printed["Consume", "all there is, and end"]
    assert {"hello", "v", "two"} <= set(everything.split())
    assert printed["Consume", MEMBER].count("\n") == everything.count("\n")
    assert printed["Consume", "from time to time"] == ""  # all is newer
    assert printed["Consume", "the last of all"].count("\n") == 5
    assert {path.read_bytes() for path in (folder / "out").iterdir()} >= {b"\x00\xff", b""}
    assert "orders" in printed["Topics", "list by pattern"]
    assert "3600000" in printed["Topics", "change a setting"]
    assert "billing" in printed["Groups", "list"]
    assert "orders" in printed["Cluster", "a cluster by name"]
    assert "record" in printed["Cluster", "what is in a log file"]
    assert printed["For good", "delete topics"].count("yes") == 1


def test_the_other_tools_are_in_each_row() -> None:
    for tasks in TASKS.values():
        for task in tasks:
            assert task.here.startswith("barnabas ") or " barnabas " in task.here
            for line, tool in ((task.rpk, "rpk "), (task.kcat, "kcat "), (task.kafka, "kafka-")):
                assert line == "" or line.startswith(tool)
