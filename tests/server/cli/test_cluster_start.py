"""`barnabas cluster start` without a ZooKeeper: what it says when of its brokers."""

from __future__ import annotations

import math
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.server.cli.cluster_processes import BrokerProcess
from barnabas.server.cli.cluster_start import RunningCluster


class Answering:
    """A broker that has started, and answers what it knows as it is told to; then all is over."""

    def __init__(self, broker_id: int, answers: list[bool], told: list[int]) -> None:
        self.broker_id, self.address = broker_id, f"127.0.0.1:{broker_id}"
        self.ended_at = None
        self._answers, self._told = answers, told

    def spawn(self) -> None: ...
    def wait_until_started(self) -> None: ...

    def look(self, _: float) -> bool:
        return False

    def knows(self, broker_ids: set[int]) -> bool:
        assert broker_ids == {0, 1}
        if len(self._answers) == 1:
            self._told.append(signal.SIGTERM)
        return self._answers.pop(0)


class Serving:
    """A ZooKeeper that runs."""

    process = property(lambda self: self)

    def poll(self) -> None: ...


@pytest.mark.parametrize("is_known", [True, False])
def test_it_is_up_when_every_broker_knows_every_one(
    is_known: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[int] = []
    brokers: Any = [Answering(0, [False, True, True], []), Answering(1, [False, is_known], told)]
    zookeeper: Any = Serving()
    RunningCluster(brokers, zookeeper, math.inf).run(told)
    lines = capsys.readouterr().out.splitlines()
    up = ["the cluster is up: 127.0.0.1:0,127.0.0.1:1"] if is_known else []
    assert lines == [f"broker {n} is listening on 127.0.0.1:{n}" for n in (0, 1)] + up


def test_a_broker_is_asked_whom_it_knows(tmp_path: Path) -> None:
    with barnabas.Broker({"broker.id": 0}) as broker:
        asked = BrokerProcess(0, tmp_path, "127.0.0.1", broker.port, {})
        assert asked.knows({0}) and not asked.knows({0, 1})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert BrokerProcess(0, tmp_path, "127.0.0.1", port, {}).knows({0}), "it cannot be asked"
