"""`barnabas cluster start`: brokers in processes and their ZooKeeper, from one command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from oracles import require_oracle, require_program, stop

from barnabas.server.testing.zookeeper import is_serving
from tests.server.waiting import wait_until

PATIENCE_S = 120.0


class Started:
    """The command, and where it says that everything is."""

    def __init__(self, process: subprocess.Popen[str], errors: Path) -> None:
        self.process, self.errors = process, errors
        assert process.stdout is not None
        self.lines: list[str] = []
        for line in process.stdout:
            self.lines.append(line.strip())
            if line.startswith("the cluster is up: "):
                break
        said = "\n".join(self.lines)
        assert "the cluster is up: " in said, said + errors.read_text()
        self.zookeeper_port = int(re.findall(r"ZooKeeper .*:(\d+)", said)[0])
        self.bootstrap = said.rpartition(": ")[2]

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        outcome = subprocess.run(
            [sys.executable, "-m", "barnabas", *arguments, "--json"],
            env=os.environ | {"BARNABAS_BOOTSTRAP": self.bootstrap},
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert outcome.returncode == 0, outcome.stderr + self.errors.read_text()
        return [json.loads(line) for line in outcome.stdout.splitlines()]

    def live(self) -> list[int]:
        return [row["broker"] for row in self.rows("cluster")]

    def children(self) -> list[int]:
        """The brokers' processes."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", "barnabas start"],
            capture_output=True, text=True,
        )  # fmt: skip
        return [int(line) for line in found.stdout.split()]


@contextmanager
def started(folder: Path, *more: str) -> Iterator[Started]:
    require_program("java")
    require_oracle("jars-3.9.1")
    errors = folder.with_suffix(".err")
    command = ["cluster", "start", "--data", str(folder), "--listen", "127.0.0.1:0", *more]
    with errors.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "barnabas", *command],
            stdout=subprocess.PIPE, stderr=output, text=True,
        )  # fmt: skip
    try:
        yield Started(process, errors)
    finally:
        stop(process)


def test_a_broker_that_is_killed_comes_back_and_the_next_start_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    with started(folder, "--brokers", "2", "--racks", "a,b", "--restart-after", "0.5") as first:
        assert first.lines[1:3] == [
            f"broker {n} is listening on {address}"
            for n, address in enumerate(first.bootstrap.split(","))
        ]
        assert [row["rack"] for row in first.rows("cluster")] == ["a", "b"]
        (made,) = first.rows("topics", "create", "t", "--partitions", "2")
        assert made == {"topic": "t", "partitions": 2, "replication_factor": 2, "internal": False}
        killed = int((folder / "broker-1.pid").read_text())
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: "again" in first.errors.read_text(), PATIENCE_S)
        wait_until(lambda: first.live() == [0, 1], PATIENCE_S)
        assert killed not in first.children() and len(first.children()) == 2
        assert "has ended by SIGKILL" in first.errors.read_text()
        first.process.send_signal(signal.SIGINT)
        assert first.process.wait(PATIENCE_S) == 0
        assert first.children() == [] and not is_serving("127.0.0.1", first.zookeeper_port)
        assert not list(folder.glob("broker-*.pid"))
    with started(folder, "--brokers", "3", "--no-restart") as second:
        assert second.live() == [0, 1, 2]
        assert [row["topic"] for row in second.rows("topics", "list")] == ["t"]
        os.kill(int((folder / "broker-2.pid").read_text()), signal.SIGKILL)
        wait_until(lambda: "broker 2 has ended" in second.errors.read_text(), PATIENCE_S)
        assert "starting broker 2 again" not in second.errors.read_text()
        os.kill(int((folder / "cluster.pid").read_text()), signal.SIGHUP)
        wait_until(lambda: "starting broker 2 again" in second.errors.read_text(), PATIENCE_S)
        wait_until(lambda: second.live() == [0, 1, 2], PATIENCE_S)


def test_everything_ends_with_the_command_however_that_ends(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    with started(folder, "--brokers", "1") as cluster:
        (broker,) = cluster.children()
        other = subprocess.run(
            [sys.executable, "-m", "barnabas", "cluster", "start", "--data", str(folder)],
            capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert (other.returncode, other.stdout) == (1, "")
        assert other.stderr == f"barnabas: {folder} is another running cluster's; say --data DIR\n"
        cluster.process.kill()
        cluster.process.wait()
        wait_until(lambda: not is_serving("127.0.0.1", cluster.zookeeper_port), PATIENCE_S)
        wait_until(lambda: not Path(f"/proc/{broker}").exists(), PATIENCE_S)


def test_a_broker_that_cannot_start_ends_the_command_in_a_sentence(tmp_path: Path) -> None:
    require_program("java")
    require_oracle("jars-3.9.1")
    command = ["cluster", "start", "--listen", "127.0.0.1:0", "--set", "num.partitions=many"]
    outcome = subprocess.run(
        [sys.executable, "-m", "barnabas", *command, "--data", str(tmp_path / "cluster")],
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert outcome.returncode == 1
    assert outcome.stderr.startswith("barnabas: broker 0 did not start: ")
    assert "num.partitions" in outcome.stderr and outcome.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--listen", "127.0.0.1:65535"), "--listen: there are no 3 ports from 65535 on"),
        (("--listen", "nowhere:x"), "--listen: 'nowhere:x' is not HOST:PORT"),
        (("--set", "num.partitions"), "--set: 'num.partitions' is not NAME=VALUE"),
        (("--brokers", "0"), "--brokers"),
    ],
)
def test_what_is_typed_wrong_is_said(arguments: tuple[str, ...], sentence: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "barnabas", "cluster", "start", *arguments],
        capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert outcome.returncode == 2 and sentence in outcome.stderr, outcome.stderr
