"""kill -9 of the broker under load: what was acknowledged is there, once if idempotent.

Flow: four producers of three client kinds write numbered records to a topic each; when all of
them are at work (aiokafka gives up where nobody listens when it starts), the broker is killed
with SIGKILL and started again, three times; the producers end; every acknowledged
number must be in its topic (the page cache outlives a process), and the idempotent producer's
exactly once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from oracles import running
from own_broker import OwnBroker
from raw_reader import read_values

from tests.server.waiting import wait_until

KINDS = ("librdkafka-idempotent", "librdkafka", "kafka-python", "aiokafka")
ROUNDS = 3
RUN_S = 1.5
PATIENCE_S = 60.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OwnBroker]:
    """A broker that outlives its processes."""
    broker = OwnBroker(tmp_path)
    yield broker
    broker.kill()


def is_written(broker: OwnBroker, topic: str) -> bool:
    """Whether the topic has records."""
    logs = (broker.folder / "data" / f"{topic}-0").glob("*.log")
    return any(log.stat().st_size for log in logs)


def test_nothing_acknowledged_is_lost(broker: OwnBroker) -> None:
    program = Path(__file__).parent / "steady_producer.py"
    commands = [[sys.executable, str(program), kind, broker.address, kind] for kind in KINDS]
    processes = [running(command, subprocess.DEVNULL) for command in commands]
    started = [each.__enter__() for each in processes]
    try:
        wait_until(lambda: all(is_written(broker, kind) for kind in KINDS), PATIENCE_S)
        for _ in range(ROUNDS):
            time.sleep(RUN_S)
            broker.kill()
            broker.start()
        time.sleep(RUN_S)
        answers = [process.communicate(timeout=120)[0] for process in started]
        for kind, answer in zip(KINDS, answers, strict=True):
            acknowledged = json.loads(answer)
            (values,) = read_values(broker.address, kind)
            kept = Counter(map(int, values))
            assert len(acknowledged) > 100, kind
            assert set(acknowledged) <= set(kept), f"{kind} lost records"
            if kind.endswith("idempotent"):
                assert max(kept.values()) == 1, f"{kind} has records twice"
    finally:
        for each in processes:
            each.__exit__(None, None, None)
