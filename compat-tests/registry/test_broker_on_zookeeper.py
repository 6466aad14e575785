"""A broker whose registry is a real Apache ZooKeeper."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import KafkaTools
from zookeeper_homes import Home, ask
from zookeeper_worlds import TIMEOUT_MS, end_session

import barnabas
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.registry.znodes.store import SessionState, Znode
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore
from barnabas.server.testing.zookeeper import ZookeeperServer
from tests.server.registry import golden
from tests.server.settings.stock_files import ZOOKEEPER, as_file
from tests.server.waiting import wait_until

T = TypeVar("T")

LONG_S = 30.0
NOT_HERE_YET = ("/kafka-acl", "/delegation_token")  # no authorizer, no tokens
VARIES = re.compile(r'"\d{13}"|(?<="id":)"[\w-]{22}"|(?<=127\.0\.0\.1:)\d+|(?<="port":)\d+')

STORED = ["/config/topics/kept", "/config/brokers/1", "/config/brokers/<default>"]

BODY = b"""{"version":5,"features":{},"endpoints":["PLAINTEXT://10.0.0.9:9092"],\
"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"host":"10.0.0.9","port":9092}"""


@pytest.fixture
def broker(home: Home) -> Iterator[barnabas.Broker]:
    with home.broker({"broker.id": 1}) as made:
        yield made


async def tree_of(store: ZookeeperStore, path: str = "/") -> dict[str, Znode]:
    found = {path: await store.get(path)}
    for name in await store.children(path):
        found |= await tree_of(store, f"{path.rstrip('/')}/{name}")
    return found


@pytest.mark.parametrize("protocol", golden.PROTOCOLS, ids=str)
def test_a_first_start_leaves_the_znodes_that_kafkas_leaves(
    home: Home, protocol: ProtocolVersion
) -> None:
    """The same paths with the same bodies, but for ids, ports and times; the same versions."""
    (step,) = [step for step in golden.steps(protocol) if step["after"] == "first-broker"]
    kafkas = {
        path: (VARIES.sub("?", znode["data"] or ""), znode.get("version", 0), "ephemeral" in znode)
        for path, znode in step["added"].items()
        if path != "/" and not path.startswith(NOT_HERE_YET)
    }
    # At 2.6 every start takes a block of producer ids; here the first producer does.
    kafkas[paths.PRODUCER_ID_BLOCK] = ("", 0, False)
    settings = {
        "broker.id": 1,
        "broker.rack": "rack-1",
        "inter.broker.protocol.version": ".".join(map(str, protocol)),
        "listeners": "CLIENT://127.0.0.1:0,INTERNAL://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "inter.broker.listener.name": "INTERNAL",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,"
        "SASL_PLAINTEXT:PLAINTEXT",
    }
    with home.broker(settings) as broker:
        ours = {
            path: (
                VARIES.sub("?", (znode.data or b"").decode()),
                znode.stat.version,
                bool(znode.stat.ephemeral_owner),
            )
            for path, znode in ask(broker, tree_of).items()
            if path != "/"
        }
        null = [path for path, znode in ask(broker, tree_of).items() if znode.data is None]
    for path in kafkas:  # a listener with SASL is to come
        kafkas[path] = (
            kafkas[path][0].replace('":"SASL_PLAINTEXT"', '":"PLAINTEXT"'),
            *kafkas[path][1:],
        )
    assert ours == kafkas
    empty = {path for path, znode in step["added"].items() if znode["data"] is None}
    empty.add(paths.PRODUCER_ID_BLOCK)
    assert set(null) - {"/"} == {path for path in empty if path in kafkas}


def test_a_clean_stop_takes_its_ephemerals_along_at_once(
    home: Home, zookeeper: ZookeeperServer
) -> None:
    with home.broker({"broker.id": 1}) as watcher, home.broker({"broker.id": 2}, "other") as other:
        assert ask(watcher, live_ids) == ["1", "2"]
        assert ask(watcher, lambda store: store.exists(paths.CONTROLLER)) is not None
        other.stop()
        assert ask(watcher, live_ids) == ["1"]


async def live_ids(store: ZookeeperStore) -> list[str]:
    return sorted(await store.children(paths.BROKER_IDS))


def test_a_killed_broker_comes_back_under_a_new_epoch(home: Home) -> None:
    with home.broker({"broker.id": 1, "zookeeper.session.timeout.ms": TIMEOUT_MS}) as broker:
        epoch = broker.server.membership.broker_epoch
        broker.kill()
        broker.start()
        assert broker.server.membership.broker_epoch > epoch
        wait_until(lambda: broker.server.controller.is_active, LONG_S)


def test_a_broker_waits_for_the_end_of_an_earlier_session_and_says_so(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    earlier = home.broker({"broker.id": 2}, "other")
    broker = home.broker({"broker.id": 1, "barnabas.log.level": "warn"})
    with earlier, ThreadPoolExecutor(1) as beside:
        ask(earlier, lambda store: store.create(paths.broker(1), BODY, ephemeral=True))
        starting = beside.submit(broker.start)
        said = ""
        deadline = time.monotonic() + LONG_S
        while "waiting for the end of an earlier session of this broker" not in said:
            assert time.monotonic() < deadline and not starting.done(), said
            said += "".join(capfd.readouterr())
        assert "registered=10.0.0.9:9092" in said
        earlier.stop()
        starting.result(LONG_S)
    broker.stop()


LOST = pytest.mark.broker_says("the session with the registry has ended")


@LOST
def test_a_lost_session_ends_office_and_registration_and_both_begin_anew(
    broker: barnabas.Broker, zookeeper: ZookeeperServer
) -> None:
    server = broker.server
    store = server.registry.store
    assert isinstance(store, ZookeeperStore)
    session, epoch = store.session_id, server.membership.broker_epoch
    office = server.controller.epoch
    assert office is not None
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic("before", 3, 1)])["before"].result()
    broker.run(end_session(zookeeper.port, store))
    wait_until(lambda: server.controller.epoch not in (None, office), LONG_S)
    assert store.session_id != session and server.membership.broker_epoch > epoch
    assert server.controller.epoch is not None
    assert server.controller.epoch.epoch == office.epoch + 1
    stat = ask(broker, lambda store: store.exists(paths.broker(1)))
    assert stat is not None
    assert (stat.czxid, stat.ephemeral_owner) == (server.membership.broker_epoch, store.session_id)
    admin.create_topics([NewTopic("after", 3, 1)])["after"].result()
    assert produced(broker, "before") == produced(broker, "after") == 1


def produced(broker: barnabas.Broker, topic: str) -> int:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "acks": "all", "log_level": 0}
    )
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(LONG_S) == 0
    return consumed(broker, topic)


def consumed(broker: barnabas.Broker, topic: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"g-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    count = 0
    while message := consumer.poll(LONG_S if not count else 0.2):
        assert message.error() is None
        count += 1
    consumer.commit(asynchronous=False)
    consumer.close()
    return count


def test_generated_ids_begin_above_the_reserved_ones_and_stay(home: Home) -> None:
    with home.broker({"reserved.broker.max.id": 50}) as first:
        with home.broker({"reserved.broker.max.id": 50}, "other") as second:
            assert [first.server.broker_id, second.server.broker_id] == [51, 52]
            assert ask(first, live_ids) == ["51", "52"]
    with home.broker() as again:
        assert again.server.broker_id == 51


def test_a_data_directory_of_another_cluster_is_refused(
    home: Home, zookeeper: ZookeeperServer, tmp_path: Path
) -> None:
    with home.broker({"broker.id": 1}):
        pass
    stranger = Home(zookeeper, tmp_path).broker({"broker.id": 1})
    with pytest.raises(StartFailed, match="says cluster id"):
        stranger.start()


@pytest.fixture
def tools() -> Iterator[Callable[[barnabas.Broker], KafkaTools]]:
    """Apache Kafka's tools, asked to reach a broker."""
    made = KafkaTools("3.9.1", "")

    def reaching(broker: barnabas.Broker) -> KafkaTools:
        made.bootstrap = broker.bootstrap_servers
        return made

    yield reaching
    made.close()


def test_an_address_of_another_live_broker_is_refused(home: Home) -> None:
    with home.broker({"broker.id": 1}) as first:
        taken = f"PLAINTEXT://{first.bootstrap_servers}"
        second = home.broker({"broker.id": 2, "advertised.listeners": taken}, "other")
        with pytest.raises(StartFailed, match="is the address of broker 1"):
            second.start()
        assert ask(first, live_ids) == ["1"]


def test_what_a_broker_knows_outlives_it(
    home: Home, tools: Callable[[barnabas.Broker], KafkaTools]
) -> None:
    """Topics, their settings, the broker's, offsets, records and the numbers of producers."""
    with home.broker({"broker.id": 1}) as broker:
        kafka = tools(broker)
        for topic in ("kept", "doomed"):
            given = ("--partitions", "5", "--config", "retention.ms=3600000")
            kafka.ok("kafka-topics", "--create", "--topic", topic, *given)
        kafka.ok("kafka-topics", "--delete", "--topic", "doomed")
        add = ("--alter", "--add-config")
        kafka.ok("kafka-configs", "--topic", "kept", *add, "max.message.bytes=200000")
        kafka.ok("kafka-configs", "--broker", "1", *add, "log.cleaner.threads=2")
        kafka.ok("kafka-configs", "--broker-defaults", *add, "log.retention.ms=86400000")
        assert produced(broker, "kept") == 1
        commit_transaction(broker, "before")
    with home.broker({"broker.id": 1}) as broker:
        kafka = tools(broker)
        assert set(kafka.ok("kafka-topics", "--list").lines) >= {"kept"}
        assert "doomed" not in kafka.ok("kafka-topics", "--list").lines
        bodies = ask(broker, lambda store: store.get_many(STORED))
        assert [json.loads(znode.data or b"")["config"] for znode in bodies if znode] == [
            {"retention.ms": "3600000", "max.message.bytes": "200000"},
            {"log.cleaner.threads": "2"},
            {"log.retention.ms": "86400000"},
        ]
        assert broker.server.config.log_cleaner_threads == 2
        assert produced(broker, "kept") == 1  # the group had committed the first one
        commit_transaction(broker, "after")
        listed = [line.split() for line in kafka.ok("kafka-transactions", "list").lines[1:]]
        producer_ids = {name: int(producer_id) for name, _, producer_id, *_ in listed}
        assert producer_ids["after"] >= producer_ids["before"] + 1000  # a block of its own


def commit_transaction(broker: barnabas.Broker, name: str) -> None:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name, "log_level": 0}
    )
    producer.init_transactions(LONG_S)
    producer.begin_transaction()
    producer.produce("kept", b"x", partition=1)
    producer.commit_transaction(LONG_S)


def test_topics_can_be_created_again_as_soon_as_zookeeper_is_back(tmp_path: Path) -> None:
    """What fails meanwhile fails with an error that a client may retry."""
    from zookeeper_worlds import zookeeper_server

    with zookeeper_server(tmp_path / "zookeeper") as zookeeper:
        home = Home(zookeeper, tmp_path)
        with home.broker({"broker.id": 1}) as broker:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
            admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
            assert produced(broker, "t") == 1
            zookeeper.kill()
            wait_until(
                lambda: broker.server.registry.store.state is not SessionState.ESTABLISHED, LONG_S
            )
            assert produced(broker, "t") == 1  # records and groups need no ZooKeeper
            down = admin.create_topics([NewTopic("down", 1, 1)], request_timeout=5)["down"]
            error = down.exception()
            assert error is not None
            assert error.args[0].name() == "REQUEST_TIMED_OUT"
            zookeeper.start()
            wait_until(
                lambda: broker.server.registry.store.state is SessionState.ESTABLISHED, LONG_S
            )
            admin.create_topics([NewTopic("up", 1, 1)])["up"].result()
            assert produced(broker, "up") == 1


def test_the_file_that_kafka_ships_starts_on_zookeeper(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(as_file(ZOOKEEPER.replace("localhost:2181", home.address)))
    arguments = ["start", "--config", str(file), "--data-dir", str(tmp_path / "logs")]
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *arguments, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as broker:  # fmt: skip
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("listening on 127.0.0.1:")
        with home.broker({"broker.id": 1, "listeners": "PLAINTEXT://127.0.0.1:0"}) as neighbour:
            wait_until(lambda: set(neighbour.server.metadata.brokers) == {0, 1})
            broker.terminate()  # before the other: it warns of one that answers no more
            said = broker.communicate(timeout=60)[1]
    assert broker.returncode == 0
    assert " WARN " not in said
