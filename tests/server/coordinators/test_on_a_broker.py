"""The second coordinator on a running broker: what happens to its topic reaches it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from tests.server.told import tell, tell_end
from tests.server.waiting import wait_until

from .counters import TOPIC, Counters

SETTINGS = {"transaction.state.log.num.partitions": 2, "transaction.state.log.min.isr": 1}
OTHER = 7


@contextmanager
def coordinating(broker: Broker) -> Iterator[Counters]:
    """Give the broker a coordinator of counters; its topic is made if it is not there."""
    server = broker.server
    counters = Counters(
        server.metadata, server.clock, server.produces, server.fetches, server.disks.flush
    )
    broker.call(lambda: server.coordinators.add(counters.leadership))
    broker.run(server.topics.ensure_internal(TOPIC.name))
    yield counters
    broker.run(counters.leadership.stop())


def add(broker: Broker, counters: Counters, name: str) -> ErrorCode:
    return broker.call(lambda: counters.add(name, 1))[0]


def lead(broker: Broker, leader_id: int) -> None:
    """Somebody is elected for all partitions of the topic."""
    topic = broker.server.metadata.topics[TOPIC.name]
    infos = tuple(
        PartitionInfo(info.index, leader_id, info.leader_epoch + 1, (0, OTHER), (leader_id,))
        for info in topic.partitions
    )
    changed = TopicInfo(topic.name, topic.topic_id, infos)
    broker.run(tell(broker.server, changed))


def test_it_answers_for_what_the_broker_leads() -> None:
    with Broker(SETTINGS) as broker, coordinating(broker) as counters:
        assert sorted(shard.index for shard in counters.shards) == [0, 1]
        assert [add(broker, counters, name) for name in ("a", "b", "a")] == [ErrorCode.NONE] * 3
        lead(broker, OTHER)
        assert add(broker, counters, "a") is ErrorCode.NOT_COORDINATOR
        lead(broker, 0)
        wait_until(lambda: not counters.shards.is_loading)
        values = {**counters.shard(0).values, **counters.shard(1).values}
        assert values == {"a": 2, "b": 1}
        assert add(broker, counters, "a") is ErrorCode.NONE
        topic = broker.server.metadata.topics[TOPIC.name]
        broker.run(tell_end(broker.server, topic))
        assert add(broker, counters, "a") is ErrorCode.NOT_COORDINATOR
        assert not list(counters.shards)


def test_it_goes_on_in_the_next_broker(tmp_path: Path) -> None:
    with Broker(SETTINGS, data_dir=tmp_path) as broker, coordinating(broker) as counters:
        assert add(broker, counters, "a") is ErrorCode.NONE
    with Broker(SETTINGS, data_dir=tmp_path) as broker, coordinating(broker) as counters:
        lead(broker, 0)
        wait_until(lambda: not counters.shards.is_loading)
        assert counters.shards.of("a").values == {"a": 1}


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
def test_a_directory_that_fails_takes_its_partitions_along(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    settings = {**SETTINGS, "log.dirs": ",".join(map(str, directories))}
    with Broker(settings, data_dir=tmp_path / "c") as broker, coordinating(broker) as counters:
        lost, kept = counters.shard(0), counters.shard(1)
        failed = lost.partition.log.data_directory
        assert failed is not kept.partition.log.data_directory
        broker.call(lambda: failed.fail(OSError(5, "Input/output error")))
        wait_until(lambda: lost.is_retired)
        assert list(counters.shards) == [kept] and kept.is_active


def test_other_topics_are_none_of_its_business() -> None:
    with Broker(SETTINGS) as broker, coordinating(broker) as counters:
        broker.create_topic("t", partitions=2)
        other = broker.server.metadata.topics["t"]
        broker.run(tell_end(broker.server, other))
        assert sorted(shard.index for shard in counters.shards) == [0, 1]
        assert add(broker, counters, "a") is ErrorCode.NONE
