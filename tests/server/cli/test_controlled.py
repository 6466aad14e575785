"""`barnabas start` with a control: the process goes on while its broker comes and goes."""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient

CONTROL = ("--set", "barnabas.http.port=0", "--set", "barnabas.http.control=true")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A broker with a control, on free ports."""
    command = [sys.executable, "-m", "barnabas", "start", "--listen", "127.0.0.1:0", *CONTROL]
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path / "data")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as started:  # fmt: skip
        yield started
        started.kill()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


def ask(address: str, method: str, path: str) -> Any:
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(method, path, headers={"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    assert response.status == 200, answer
    return answer


def test_a_broker_crashes_and_comes_back_in_one_process(process: subprocess.Popen[str]) -> None:
    port = int(line_of(process).split()[2].rpartition(":")[2])
    control = line_of(process).removeprefix("control on http://")
    state = ask(control, "GET", "/control/broker")
    assert state["bootstrap_servers"] == f"127.0.0.1:{port}"
    ask(control, "POST", "/control/broker/kill")
    assert ask(control, "GET", "/control/broker")["running"] is False
    ask(control, "POST", "/control/broker/start")
    with RawClient(port) as client:
        assert client.call(MetadataRequest(topics=None), 9).topics == []
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def test_a_port_that_is_taken_ends_it_with_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "barnabas", "start", "--listen", "127.0.0.1:0", *CONTROL]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command += ["--set", f"barnabas.http.port={port}", "--data-dir", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"barnabas: cannot serve HTTP on 127.0.0.1:{port}: Address already in use; "
        "set `barnabas.http.port` to a free port"
    )
