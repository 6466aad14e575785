"""`barnabas.Cluster(process=True)`: brokers in processes of their own, on an Apache ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oracles import require_oracle, require_program

import barnabas
from barnabas.server.testing.zookeeper import is_serving
from tests.server.waiting import wait_until

SESSION_S = 60.0


@pytest.fixture(scope="module")
def shared() -> Iterator[barnabas.Cluster]:
    require_program("java")
    require_oracle("jars-3.9.1")
    with barnabas.Cluster(3, process=True) as made:
        yield made


@pytest.fixture
def cluster(shared: barnabas.Cluster) -> Iterator[barnabas.Cluster]:
    """It, healed and emptied behind the test."""
    yield shared
    shared.clear()


def test_a_controller_that_is_killed_is_followed_and_comes_back(cluster: barnabas.Cluster) -> None:
    former = cluster.controller
    former.kill()
    wait_until(lambda: cluster.controller is not former, SESSION_S)
    cluster.create_topic("t", replicas=1)
    cluster.clock.advance("1 hour")
    former.start()
    cluster.wait_for_brokers()
    assert cluster.leader_of("t").is_running
    times_ms = [broker.clock.now_ms() for broker in cluster]
    assert max(times_ms) - min(times_ms) < 600_000, "it has missed an hour, and caught up"


def test_a_broker_that_the_controller_does_not_reach_hears_later(
    cluster: barnabas.Cluster,
) -> None:
    controller = cluster.controller
    other = cluster[(controller.broker_id + 1) % 3]
    cluster.cut(controller, other, one_way=True)
    cluster.create_topic("t", replicas=1)
    assert not other.ask("GET", "/control/topics")["topics"]
    cluster.heal(controller, other)
    wait_until(lambda: bool(other.ask("GET", "/control/topics")["topics"]))


@pytest.mark.broker_says("the session with the registry has ended")
@pytest.mark.broker_says("an event failed and is tried again", always=False)
def test_a_controller_that_loses_zookeeper_is_followed_by_another(
    cluster: barnabas.Cluster,
) -> None:
    former = cluster.controller
    cluster.cut(former, "registry")
    wait_until(lambda: cluster.controller is not former, SESSION_S)
    cluster.heal(former, "registry")
    wait_until(lambda: former.state()["controller_epoch"] is None, SESSION_S)
    cluster.wait_for_brokers(SESSION_S)


# A session lives on if ZooKeeper is back in time.
@pytest.mark.broker_says(
    "the session with the registry has ended", "an event failed and is tried again", always=False
)
def test_zookeeper_is_the_tests_to_kill(cluster: barnabas.Cluster) -> None:
    cluster.zookeeper.kill()
    assert len(cluster.running) == 3, "they serve what they lead"
    cluster.zookeeper.start()
    cluster.wait_for_brokers(SESSION_S)
    cluster.create_topic("t", replicas=1)


def test_nothing_is_left_of_it() -> None:
    require_program("java")
    require_oracle("jars-3.9.1")
    with barnabas.Cluster(1, process=True) as made:
        folder, port = made.data_dir, made.zookeeper.port
        assert is_serving("127.0.0.1", port)
    assert not folder.exists() and not is_serving("127.0.0.1", port)
