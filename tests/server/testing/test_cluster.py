"""`barnabas.Cluster` in one process: life and death of its brokers, links, one clock."""

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.server.core.startup import StartFailed
from barnabas.server.settings.names import ConfigError
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until

SESSION_ENDS = "3 seconds"


@pytest.fixture(scope="module")
def shared() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(3, {"num.partitions": 2}, racks=["a", "b", "c"]) as made:
        yield made


@pytest.fixture
def cluster(shared: barnabas.Cluster) -> Iterator[barnabas.Cluster]:
    """It, healed and emptied behind the test."""
    yield shared
    shared.clear()


def test_clients_find_every_broker_by_any(cluster: barnabas.Cluster) -> None:
    ports = [broker.port for broker in cluster]
    assert cluster.bootstrap_servers == ",".join(f"127.0.0.1:{port}" for port in ports)
    for port in ports:
        with RawClient(port) as client:
            answer = client.call(MetadataRequest(topics=[]), 9)
        found = sorted((each.node_id, each.port, each.rack) for each in answer.brokers)
        assert found == list(zip(range(3), ports, "abc", strict=True))
        assert answer.controller_id == cluster.controller.broker_id
    assert repr(cluster) == "<Cluster of 3 brokers, 3 of them running>"
    assert repr(cluster[1]) == f"<broker 1 on 127.0.0.1:{ports[1]}, running>"


def test_a_topic_has_its_leaders_on_all_brokers(cluster: barnabas.Cluster) -> None:
    assert cluster.create_topic("t", partitions=3) == "t"
    led = {cluster.leader_of("t", n).broker_id for n in range(3)}
    assert led == {0, 1, 2}
    assert sorted(cluster.partition("t").replicas) == [0, 1, 2]
    cluster.create_topic("u", replicas=1, settings={"retention.ms": 5})
    assert len(cluster.partition("u").replicas) == 1
    with pytest.raises(LookupError, match="there is no partition t-3"):
        cluster.partition("t", 3)
    with pytest.raises(ValueError, match=r"larger than available brokers|available brokers"):
        cluster.create_topic("v", replicas=4)


def test_a_broker_that_is_stopped_is_gone_at_once_and_comes_back(
    cluster: barnabas.Cluster,
) -> None:
    former = cluster.controller
    port = former.port
    former.stop()
    former.stop()
    assert not former.is_running and len(cluster.running) == 2
    assert cluster.controller is not former
    cluster.wait_for_brokers()
    former.start()
    cluster.wait_for_brokers()
    assert former.port == port and cluster.controller is not former


def test_a_broker_that_is_killed_counts_until_its_session_is_over(
    cluster: barnabas.Cluster,
) -> None:
    cluster.create_topic("t", replicas=1)
    leader = cluster.leader_of("t")
    leader.kill()
    assert repr(leader).endswith("stopped>")
    cluster.clock.advance(SESSION_ENDS)
    wait_until(lambda: cluster.partition("t").leader == -1)
    with pytest.raises(RuntimeError, match="the broker is not running"):
        leader.clock.now_ms()
    leader.start()
    assert cluster.leader_of("t") is leader


def test_brokers_that_were_killed_are_back_at_once(cluster: barnabas.Cluster) -> None:
    for broker in cluster:
        broker.kill()
    for broker in cluster:
        broker.start()
    cluster.wait_for_brokers()
    assert cluster.controller in cluster.running


def test_time_is_one_for_all_and_goes_on_over_a_restart(cluster: barnabas.Cluster) -> None:
    before_ms = cluster.clock.now_ms()
    cluster.clock.advance("2 days")
    cluster[2].stop()
    cluster.clock.jump("-1 day")
    cluster[1].restart()
    cluster[2].start()
    for broker in cluster:
        passed_ms = broker.clock.now_ms() - before_ms
        assert 86_400_000 <= passed_ms < 86_400_000 + 600_000
    with pytest.raises(ValueError, match="a clock cannot go back"):
        cluster.clock.advance(-1)


def test_a_link_is_cut_both_ways_or_one_way(cluster: barnabas.Cluster) -> None:
    def links(broker: int) -> dict[int, str]:
        listed = cluster[broker].ask("GET", "/control/links")["links"]
        return {each["peer"]: each["direction"] for each in listed}

    cluster.cut(0, 1)
    cluster.cut(cluster[1], 2, one_way=True)
    assert [links(n) for n in range(3)] == [{1: "both"}, {0: "both", 2: "to"}, {1: "from"}]
    cluster.heal(2, 1, one_way=True)
    assert links(2) == {1: "from"}
    cluster.heal(1, 2, one_way=True)
    cluster.heal(0, 1, one_way=True)
    assert [links(n) for n in range(3)] == [{1: "from"}, {0: "to"}, {}]
    cluster.heal()
    assert [links(n) for n in range(3)] == [{}, {}, {}]


def test_who_the_controller_does_not_reach_hears_when_the_link_is_healed(
    cluster: barnabas.Cluster,
) -> None:
    controller = cluster.controller
    other = cluster[(controller.broker_id + 1) % 3]
    cluster.cut(controller, other, one_way=True)
    cluster.create_topic("t", replicas=1)
    third = cluster[(controller.broker_id + 2) % 3]
    assert third.ask("GET", "/control/topics")["topics"]
    assert not other.ask("GET", "/control/topics")["topics"]
    cluster.heal(controller, other)
    wait_until(lambda: bool(other.ask("GET", "/control/topics")["topics"]))


@pytest.mark.broker_says("the session with the registry has ended")
def test_a_controller_that_loses_the_registry_is_followed_by_another(
    cluster: barnabas.Cluster,
) -> None:
    former = cluster.controller
    cluster.cut(former, "registry")
    cluster.clock.advance(SESSION_ENDS)
    wait_until(lambda: cluster.controller is not former)
    cluster.heal(former, "registry")
    wait_until(lambda: former.state()["controller_epoch"] is None)
    cluster.wait_for_brokers()


def test_a_broker_is_cut_off_from_everything(cluster: barnabas.Cluster) -> None:
    away = cluster.controller
    cluster.isolate(away)
    cluster.clock.advance(SESSION_ENDS)
    wait_until(lambda: cluster.controller is not away)
    cluster.create_topic("t", replicas=1)
    assert not away.ask("GET", "/control/topics")["topics"]
    away.stop()
    with pytest.raises(StartFailed, match="the line to it is cut"):
        away.start()
    cluster.heal()
    away.start()
    cluster.wait_for_brokers()
    wait_until(lambda: bool(away.ask("GET", "/control/topics")["topics"]))


def test_a_broker_without_a_registry_cannot_say_goodbye(cluster: barnabas.Cluster) -> None:
    away = cluster[(cluster.controller.broker_id + 1) % 3]
    cluster.cut(away, "registry")
    away.stop()
    cluster.heal()
    known = cluster.controller.state()["brokers"]
    assert known == [0, 1, 2], "its session goes on"
    cluster.clock.advance(SESSION_ENDS)
    cluster.wait_for_brokers()


@pytest.mark.parametrize(
    ("ends", "how", "sentence"),
    [
        ((0, 0), {}, "a link has two ends, which are not the same"),
        ((0, 3), {}, "there is no broker 3; they are 0 to 2"),
        ((0, "zk"), {}, "'zk' is no end of a link: say a broker, or 'registry'"),
        ((0, "registry"), {"one_way": True}, "the link to the registry is cut as a whole"),
        ((0, 1), {"one_way": True, "resets": True}, "`resets` goes with both directions"),
    ],
)
def test_a_cut_that_makes_no_sense_is_refused(
    cluster: barnabas.Cluster, ends: tuple[int, int], how: dict[str, bool], sentence: str
) -> None:
    with pytest.raises((ValueError, LookupError), match=sentence):
        cluster.cut(*ends, **how)
    assert not any(broker.ask("GET", "/control/links")["links"] for broker in cluster)


def test_what_does_not_come_is_told_in_a_sentence(cluster: barnabas.Cluster) -> None:
    cluster.create_topic("t", replicas=1)
    with pytest.raises(TimeoutError, match=r"not 2 replicas of t are in sync, but \[\[\d\]\], aft"):
        cluster.wait_for_isr("t", 2, timeout_s=0.01)
    with pytest.raises(TimeoutError, match="of u are in sync, but there is none"):
        cluster.wait_for_isr("u", 1, timeout_s=0.01)
    cluster.wait_for_isr("t", 1)
    with pytest.raises(RuntimeError, match="there is no ZooKeeper: say process=True"):
        assert cluster.zookeeper


def test_faults_and_requests_are_one_brokers(cluster: barnabas.Cluster) -> None:
    fault = cluster[1].faults.add("close", api="METADATA")
    for broker in cluster:
        with RawClient(broker.port) as client:
            client.send(MetadataRequest(topics=[]), 9)
            assert client.is_closed() == (broker is cluster[1])
    assert fault.hits == 1 and len(cluster[0].faults) == 0


def test_everything_stays_in_a_folder_that_is_given(tmp_path: Path) -> None:
    for made in (True, False):
        with barnabas.Cluster(2, data_dir=tmp_path) as cluster:
            if made:
                cluster.create_topic("t", partitions=2)
            assert len(cluster.partition("t", 1).replicas) == 2
            assert cluster.leader_of("t").is_running


def test_nothing_is_left_of_a_cluster_that_has_ended() -> None:
    cluster = barnabas.Cluster(2, broker_settings={1: {"num.partitions": 5}})
    others = set(threading.enumerate())
    with pytest.raises(RuntimeError, match="the cluster has not been started"):
        assert cluster.data_dir
    with cluster:
        folder = cluster.data_dir
        assert cluster[1].server.config.num_partitions == 5
        assert cluster[0].server.config.num_partitions == 1
    gc.collect()
    assert not folder.exists()
    left = set(threading.enumerate()) - others
    assert "barnabas" not in [thread.name for thread in left]
    cluster.stop()
    with cluster:
        assert len(cluster.running) == 2, "it starts again, and knows nothing"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"brokers": 0}, "a cluster has one broker at least, not 0"),
        ({"brokers": 2, "racks": ["a"]}, "racks are given for 1 brokers, of 2"),
    ],
)
def test_a_cluster_that_makes_no_sense(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        barnabas.Cluster(**arguments)  # type: ignore[arg-type]  # that is the point


@pytest.mark.broker_says("a data directory cannot be used", "its partitions are offline")
def test_a_broker_that_cannot_start_ends_the_others(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        barnabas.Cluster(2, broker_settings={1: {"num.partitions": "x"}}).start()
    (tmp_path / "broker-1").write_text("in the way")
    with pytest.raises(StartFailed, match="broker-1"):
        barnabas.Cluster(2, data_dir=tmp_path).start()
    (tmp_path / "broker-1").unlink()
    with barnabas.Cluster(2, data_dir=tmp_path) as cluster:
        assert len(cluster.running) == 2
