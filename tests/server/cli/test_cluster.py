"""`barnabas cluster`."""

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run


def test_the_brokers_of_the_cluster(run: Run, broker: Broker) -> None:
    (row,) = run("cluster", "--json").rows
    assert len(row.pop("cluster_id")) == 22
    assert row == {
        "broker": 0, "host": "127.0.0.1", "port": broker.port, "rack": None, "controller": True
    }  # fmt: skip
    lines = run("cluster").stdout.splitlines()
    assert lines[0].startswith("cluster ")
    assert lines[2].split() == ["0", "127.0.0.1", str(broker.port), "-", "yes"]


def test_the_brokers_of_an_old_cluster(run: Run, broker: Broker) -> None:
    # kafka-python's own method fails where DescribeCluster is of version 0.
    broker.pose_as("2.8")
    try:
        (row,) = run("cluster", "--json").rows
        assert (row["broker"], row["controller"]) == (0, True)
        refused = run("transactions", "list")
        assert refused.code == 1 and "is too old for this" in refused.stderr
        assert refused.is_one_sentence()
    finally:
        broker.pose_as("")
