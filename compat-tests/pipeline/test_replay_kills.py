"""A short round of `scripts/replay-kills`: one kill of the broker, one of the Spark driver."""

from __future__ import annotations

from pathlib import Path

from own_broker import OwnBroker
from replay_kills import Kills, records_of

PARTITIONS = 3


def test_a_replay_whose_broker_and_driver_are_killed_loses_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "broker").mkdir()
    broker = OwnBroker(tmp_path / "broker")
    options = ["--exactly-once", "--rate", "8000/s"]
    run = Kills(
        tmp_path, broker, records_of(30_000, PARTITIONS), PARTITIONS, seed=1, options=options
    )
    try:
        run.run(["broker", "driver"], points=[5_000, 15_000])
        assert run.killed == {"broker": 1, "driver": 1}
        assert run.starts >= 2
        assert run.differences() == []
    finally:
        run.close()
        broker.close()
