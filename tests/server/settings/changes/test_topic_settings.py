"""Stored settings that cannot be used are left out, and the topic lives with the rest."""

import asyncio
import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.observing.logs import Logs
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig, load_config
from barnabas.storage.log_config import LogConfig


class World:
    """Topics' settings over a registry of their own, which holds those of a topic `t`."""

    def __init__(self, own: dict[str, str], broker: Mapping[str, str] | None = None) -> None:
        self.logged = io.StringIO()
        registry = Registry(Ensemble(lambda: 0).connect())
        log = Logs("info", self.logged).room("settings")
        self.settings = TopicSettings(registry.configs, BrokerConfig(broker), log)
        asyncio.run(registry.configs.write("topics/t", own))

    def read(self) -> LogConfig:
        """The settings of `t`."""
        return asyncio.run(self.settings.read("t"))


def test_what_can_be_used_is_used() -> None:
    world = World({"retention.ms": "soon", "segment.bytes": "1000", "no.such": "1"})
    config = world.read()
    assert (config.segment_bytes, config.retention_ms) == (1000, 604_800_000)
    lines = world.logged.getvalue().splitlines()
    assert len(lines) == 2
    for name, value in (("retention.ms", "soon"), ("no.such", "1")):
        assert any(f"topic=t setting={name} value={value}" in line for line in lines)
    assert asyncio.run(world.settings.read_own("t")) == {"segment.bytes": "1000"}


@pytest.mark.parametrize(
    "own",
    [
        {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8", "segment.bytes": "1000"},
        {"remote.storage.enable": "true", "segment.bytes": "1000"},
    ],
)
def test_of_two_that_contradict_each_other_one_goes(own: dict[str, str]) -> None:
    assert World(own).read().segment_bytes == 1000


def test_what_contradicts_the_broker_goes() -> None:
    world = World({"max.compaction.lag.ms": "8"}, {"log.cleaner.min.compaction.lag.ms": "9"})
    config_of = asyncio.run(world.settings.read_all())
    assert config_of("t").max_compaction_lag_ms == config_of("unheard-of").max_compaction_lag_ms
    assert "setting=max.compaction.lag.ms value=8" in world.logged.getvalue()


def test_a_topic_with_nonsense_stored_is_served_and_found_again(tmp_path: Path) -> None:
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}

    async def retention_ms(*, is_new: bool) -> int:
        broker = Broker(load_config((), settings), logs=Logs("error", io.StringIO()))
        await broker.start()
        try:
            if is_new:
                await broker.registry.topics.create("t", {0: [0]}, {"retention.ms": "soon"})
            assert await broker.topics.wait_until_served("t", 10_000)
            return broker.replicas.require("t", 0).log.config.retention_ms
        finally:
            await broker.stop()

    assert asyncio.run(retention_ms(is_new=True)) == 604_800_000
    assert asyncio.run(retention_ms(is_new=False)) == 604_800_000
