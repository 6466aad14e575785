"""kill -9 of the broker under load: what was acknowledged is there, once if idempotent.

Flow: four producers of three client kinds write numbered records to a topic each; the broker
is killed with SIGKILL and started again, three times; the producers end; every acknowledged
number must be in its topic (the page cache outlives a process), and the idempotent producer's
exactly once.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from oracles import running
from raw_reader import read_values

KINDS = ("librdkafka-idempotent", "librdkafka", "kafka-python", "aiokafka")
ROUNDS = 3
RUN_S = 1.5


class Broker:
    """A broker process on a port and a data directory that outlive it."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "barnabas", "start", "--listen", self.address]
        command += ["--data-dir", str(self.data_dir)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        assert b"listening" in process.stdout.readline()
        return process

    def kill_and_restart(self) -> None:
        self.kill()
        self.process = self.start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path / "data")


def test_nothing_acknowledged_is_lost(broker: Broker) -> None:
    program = Path(__file__).parent / "steady_producer.py"
    commands = [[sys.executable, str(program), kind, broker.address, kind] for kind in KINDS]
    processes = [running(command, subprocess.DEVNULL) for command in commands]
    started = [each.__enter__() for each in processes]
    try:
        for _ in range(ROUNDS):
            time.sleep(RUN_S)
            broker.kill_and_restart()
        time.sleep(RUN_S)
        answers = [process.communicate(timeout=120)[0] for process in started]
        for kind, answer in zip(KINDS, answers, strict=True):
            acknowledged = json.loads(answer)
            kept = Counter(int(value) for value in read_values(broker.address, kind))
            assert len(acknowledged) > 100, kind
            assert set(acknowledged) <= set(kept), f"{kind} lost records"
            if kind.endswith("idempotent"):
                assert max(kept.values()) == 1, f"{kind} has records twice"
    finally:
        for each in processes:
            each.__exit__(None, None, None)
        broker.kill()
