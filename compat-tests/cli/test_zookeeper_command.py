"""`barnabas zookeeper start`, and a broker on it, as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from oracles import require_oracle, require_program, stop

from barnabas.server.testing.zookeeper import is_serving
from tests.server.waiting import wait_until

STARTED = {
    "zookeeper": "ZooKeeper is listening on ",
    "start": "listening on ",
}


@contextmanager
def running(errors: Path, *command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that has started, and the address it printed; it has ended on the way out."""
    with errors.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "barnabas", *command],
            stdout=subprocess.PIPE, stderr=output, text=True,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(STARTED[command[0]]), errors.read_text()
        yield process, line.removeprefix(STARTED[command[0]]).split()[0]
    finally:
        stop(process)


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    require_program("java")
    require_oracle("jars-3.9.1")
    told = ("zookeeper", "start", "--port", "0", "--data", str(tmp_path / "zookeeper"))
    with running(tmp_path / "zookeeper.err", *told) as started:
        yield started


def test_a_broker_on_it_starts_is_killed_comes_back_and_stops(
    tmp_path: Path, zookeeper: tuple[subprocess.Popen[str], str]
) -> None:
    server, address = zookeeper
    settings = {
        "zookeeper.connect": f"{address}/kafka",
        "zookeeper.session.timeout.ms": "2000",
        "broker.id": "7",
        "log.dirs": str(tmp_path / "data"),
        "listeners": "PLAINTEXT://127.0.0.1:0",
    }
    told = [word for each in settings.items() for word in ("--set", "=".join(each))]
    errors = tmp_path / "broker.err"
    with running(errors, "start", *told) as (broker, _):
        broker.kill()
        broker.wait()
    with running(errors, "start", *told) as (broker, _):
        broker.terminate()
        assert broker.wait(60) == 0
    server.terminate()
    assert server.wait(60) == 0


def test_a_zookeeper_that_ends_by_itself_is_told_of(
    tmp_path: Path, zookeeper: tuple[subprocess.Popen[str], str]
) -> None:
    server, _ = zookeeper
    (java,) = subprocess.run(
        ["pgrep", "-P", str(server.pid), "java"], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(java), 9)
    assert server.wait(30) == 1
    assert "ZooKeeper has ended" in (tmp_path / "zookeeper.err").read_text()


def test_a_zookeeper_does_not_outlive_a_command_that_was_killed(
    zookeeper: tuple[subprocess.Popen[str], str],
) -> None:
    server, address = zookeeper
    host, port = address.split(":")
    assert is_serving(host, int(port))
    server.kill()
    wait_until(lambda: not is_serving(host, int(port)))
