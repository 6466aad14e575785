"""Settings in force: brokers sharing a registry hear of each other's changes."""

import asyncio
import time
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.core import turns
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import ConnectionLoss
from barnabas.server.settings.changes.live import LOOK_AGAIN_MS
from barnabas.server.settings.config import load_config
from barnabas.storage.log_config import LogConfig
from tests.server.waiting import eventually


async def started(directory: Path, ensemble: Ensemble) -> Broker:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(directory),
        "barnabas.log.level": "error",
    }
    broker = Broker(load_config((), settings), ensemble=ensemble)
    await broker.start()
    return broker


def test_what_others_write_is_applied(tmp_path: Path) -> None:
    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        broker = await started(tmp_path, ensemble)
        other = Registry(ensemble.connect())
        await broker.topics.create("t", {0: [0]}, {})
        assert await broker.topics.wait_until_served("t", 10_000)
        partition = broker.replicas.require("t", 0)

        await other.configs.write("topics/t", {"flush.messages": "5"})
        await other.configs.notify("topics/t")
        await eventually(lambda: partition.log.config.flush_messages == 5)

        await other.configs.write("brokers/<default>", {"message.max.bytes": "1234"})
        await other.configs.notify("brokers/<default>")
        await eventually(lambda: broker.config.message_max_bytes == 1234)
        assert partition.log.config.max_message_bytes == 1234
        assert partition.log.config.flush_messages == 5

        await other.configs.write("brokers/0", {"max.connections": "3", "message.max.bytes": "99"})
        await other.configs.notify("brokers/0")
        await eventually(lambda: broker.population.limits.max_connections == 3)
        assert partition.log.config.max_message_bytes == 99
        await broker.stop()

    asyncio.run(scenario())


@pytest.mark.broker_says(
    "a topic's setting cannot be used and is left out topic=t setting=retention.ms"
)
def test_stored_nonsense_is_passed_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        registry = Registry(ensemble.connect())
        await registry.cluster.ensure_paths()
        await registry.configs.write(
            "brokers/0", {"no.such": "1", "message.max.bytes": "x", "num.io.threads": "3"}
        )
        broker = await started(tmp_path, ensemble)
        assert broker.config.message_max_bytes == 1048588
        await broker.topics.create("t", {0: [0]}, {})
        assert await broker.topics.wait_until_served("t", 10_000)
        partition = broker.replicas.require("t", 0)
        await registry.configs.write("topics/t", {"retention.ms": "soon"})
        await registry.configs.notify("topics/t")
        await registry.configs.write("topics/gone", {"retention.ms": "1"})
        await registry.configs.notify("topics/gone")
        await broker.live_settings.catch_up()
        assert partition.log.config.retention_ms == 604_800_000
        await broker.stop()

    asyncio.run(scenario())


@pytest.mark.broker_says("stored settings cannot be in force entity=brokers/0")
@pytest.mark.parametrize(
    ("name", "text"),
    [("max.connections.per.ip.overrides", "a"), ("listeners", "NOWHERE://:1")],
)
def test_stored_settings_that_contradict_others_stop_nobody(
    tmp_path: Path, name: str, text: str
) -> None:
    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        registry = Registry(ensemble.connect())
        await registry.cluster.ensure_paths()
        await registry.configs.write("brokers/0", {name: text, "message.max.bytes": "3000"})
        broker = await started(tmp_path, ensemble)
        assert broker.config.message_max_bytes == 1048588
        await registry.configs.write("brokers/0", {"message.max.bytes": "3000"})
        await registry.configs.notify("brokers/0")
        await broker.live_settings.catch_up()
        assert broker.config.message_max_bytes == 3000
        await broker.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("entity", ["topics/t", "brokers/<default>"])
def test_a_change_while_a_large_topic_is_hosted_is_in_force_for_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entity: str
) -> None:
    monkeypatch.setattr(turns, "TURN_NS", 0)  # a turn for each partition

    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        broker = await started(tmp_path, ensemble)
        half_way, changed = asyncio.Event(), asyncio.Event()

        async def others_have_their_turn() -> None:
            if broker.replicas.find("t", 0) is not None:
                half_way.set()
                await changed.wait()

        monkeypatch.setattr(broker.turns, "_granted", others_have_their_turn)
        await broker.topics.create("t", {0: [0], 1: [0]}, {})
        await half_way.wait()
        name = "flush.messages" if entity == "topics/t" else "log.flush.interval.messages"
        await broker.registry.configs.update(entity, lambda own: {**own, name: "5"})
        await broker.registry.configs.notify(entity)
        await broker.live_settings.catch_up()
        changed.set()
        assert await broker.topics.wait_until_served("t", 10_000, partitions=2)
        hosted = [broker.replicas.require("t", index) for index in (0, 1)]
        assert [each.log.config.flush_messages for each in hosted] == [5, 5]
        await broker.stop()

    asyncio.run(scenario())


def test_compaction_and_producers_hear_of_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        broker = await started(tmp_path, ensemble)
        await broker.topics.create("t", {0: [0]}, {})
        assert await broker.topics.wait_until_served("t", 10_000)
        changes = {"log.cleaner.backoff.ms": "7", "producer.id.expiration.ms": "11"}
        await broker.registry.configs.write("brokers/0", changes)
        await broker.registry.configs.notify("brokers/0")
        await broker.live_settings.catch_up()
        assert broker.disks.scheduler.config.cleaner_backoff_ms == 7
        assert broker.replicas.require("t", 0).log.producer_id_expiration_ms == 11
        await broker.stop()

    asyncio.run(scenario())


@pytest.mark.broker_says("changed settings cannot be")
@pytest.mark.parametrize("failure", [ConnectionLoss("/config"), ValueError("a bug")])
def test_a_change_that_could_not_be_applied_is_made_good_and_later_ones_come_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        broker = await started(tmp_path, ensemble)
        other = Registry(ensemble.connect())
        config, read, failures = broker.config, broker.registry.configs.read, [failure] * 2

        async def maybe(path: str) -> dict[str, str]:
            if failures:
                raise failures.pop()
            return await read(path)

        monkeypatch.setattr(broker.registry.configs, "read", maybe)
        for wanted in (1234, 1235):
            await other.configs.write("brokers/0", {"message.max.bytes": str(wanted)})
            await other.configs.notify("brokers/0")
            while config.message_max_bytes != wanted:
                broker.clock.advance(LOOK_AGAIN_MS)
                await asyncio.sleep(0)
        await broker.stop()

    asyncio.run(asyncio.wait_for(scenario(), 30))


@pytest.mark.broker_says("changed settings cannot be applied entity=topics/bad")
def test_a_change_that_can_never_be_applied_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        ensemble = Ensemble(lambda: int(time.time() * 1000))
        broker = await started(tmp_path, ensemble)
        for name in ("bad", "good"):
            await broker.topics.create(name, {0: [0]}, {})
            assert await broker.topics.wait_until_served(name, 10_000)
        read = broker.topic_settings.read

        async def maybe(topic: str) -> LogConfig:
            if topic == "bad":
                raise ValueError("a bug")
            return await read(topic)

        monkeypatch.setattr(broker.topic_settings, "read", maybe)
        log = broker.replicas.require("good", 0).log
        for wanted in ("5", "6"):
            for name in ("bad", "good"):
                await broker.registry.configs.write(f"topics/{name}", {"flush.messages": wanted})
                await broker.registry.configs.notify(f"topics/{name}")
            await broker.live_settings.catch_up()
            assert log.config.flush_messages == int(wanted)
        await broker.stop()

    asyncio.run(asyncio.wait_for(scenario(), 30))
