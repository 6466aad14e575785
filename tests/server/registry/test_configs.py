"""Configs of entities, their notifications, and the encoding of names."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.registry.configs import NO_ZNODE, StoredConfig, desanitize, sanitize
from barnabas.server.registry.errors import VersionConflict
from barnabas.server.registry.registry import Registry
from tests.server.registry.recording import RecordingStore, kafka_wrote
from tests.server.registry.test_topics import ruling
from tests.server.registry.worlds import Heard


async def test_what_was_never_written_is_empty() -> None:
    _, (one,) = await ruling()
    assert await one.configs.read("brokers/<default>") == {}
    assert await one.configs.read_all("clients") == {}
    assert await one.configs.read_all("nonsense") == {}


async def test_configs_are_written_read_and_deleted() -> None:
    _, (one, two) = await ruling(2)
    await one.configs.write("brokers/1", {"log.retention.ms": "1"})
    await one.configs.write("brokers/1", {"log.retention.ms": "2"})
    await two.configs.write("brokers/<default>", {})
    found = await two.configs.read_all("brokers")
    assert found == {"1": {"log.retention.ms": "2"}, "<default>": {}}
    await one.configs.delete("brokers/1")
    await one.configs.delete("brokers/1")
    assert await two.configs.read_all("brokers") == {"<default>": {}}


async def test_a_users_client_has_parents_with_null_data() -> None:
    _, (one,) = await ruling()
    await one.configs.write("users/<default>/clients/app", {"producer_byte_rate": "1"})
    assert (await one.store.get("/config/users/<default>")).data is None
    assert await one.configs.read_all("users") == {"<default>": {}}
    assert await one.configs.read_all("users/<default>/clients") == {
        "app": {"producer_byte_rate": "1"}
    }


@pytest.mark.broker_says("cannot be read")
@pytest.mark.parametrize("body", [b"{", b"\xff", b"[]", b'{"config":7}', b'{"config":{"a":1}}'])
async def test_a_config_that_cannot_be_read_counts_as_empty_and_can_be_replaced(
    body: bytes,
) -> None:
    _, (one,) = await ruling()
    await one.configs.write("topics/t1", {"a": "1"})
    await one.configs.write("topics/t2", {"a": "2"})
    await one.store.set("/config/topics/t1", body)
    assert await one.configs.read("topics/t1") == {}
    assert await one.configs.read_all("topics") == {"t1": {}, "t2": {"a": "2"}}
    await one.configs.update("topics/t1", lambda own: {**own, "b": "2"})
    assert await one.configs.read("topics/t1") == {"b": "2"}


@pytest.mark.broker_says("cannot be read")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"version":1,"entity_name":"t"}'])
async def test_a_notification_that_cannot_be_read_hides_no_other(body: bytes) -> None:
    _, (one, two) = await ruling(2)
    await one.configs.notify("topics/before")
    await one.store.create("/config/changes/config_change_", body, sequential=True)
    await one.configs.notify("topics/after")
    assert await two.configs.changed() == ["topics/before", "topics/after"]


async def test_a_config_is_written_without_a_controller_too() -> None:
    epoch, (one,) = await ruling()
    await one.controller.resign(epoch)
    await one.configs.write("topics/t1", {"a": "1"})
    assert await one.configs.read("topics/t1") == {"a": "1"}


async def test_a_write_that_builds_on_what_is_gone_does_not_happen() -> None:
    _, (one, two) = await ruling(2)
    await one.configs.write("topics/t1", {"a": "1"}, NO_ZNODE)
    stored = await one.configs.read_versioned("topics/t1")
    await two.configs.write("topics/t1", {"a": "2"}, stored.znode_version)
    for version in (stored.znode_version, NO_ZNODE):
        with pytest.raises(VersionConflict):
            await one.configs.write("topics/t1", {"a": "3"}, version)
    await two.configs.delete("topics/t1")
    with pytest.raises(VersionConflict):
        await one.configs.write("topics/t1", {"a": "3"}, stored.znode_version)
    assert (await one.configs.read_versioned("topics/t1")).znode_version == NO_ZNODE


def interrupted(
    monkeypatch: pytest.MonkeyPatch, one: Registry, others: Iterator[Callable[[], Awaitable[None]]]
) -> None:
    """After each time that `one` reads, one of the others acts."""
    read = one.configs.read_versioned

    async def then_another(entity_path: str) -> StoredConfig:
        stored = await read(entity_path)
        await next(others)()
        return stored

    monkeypatch.setattr(one.configs, "read_versioned", then_another)


@pytest.mark.parametrize("is_there", [True, False])
async def test_an_update_is_made_again_of_what_another_broker_wrote_meanwhile(
    monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    _, (one, two) = await ruling(2)
    if is_there:
        await one.configs.write("topics/t1", {})
    quicker = partial(two.configs.write, "topics/t1", {"theirs": "1"})
    interrupted(monkeypatch, one, chain([quicker], repeat(nothing)))
    await one.configs.update("topics/t1", lambda config: {**config, "ours": "1"})
    assert await two.configs.read("topics/t1") == {"theirs": "1", "ours": "1"}


async def test_an_update_that_always_meets_another_gives_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, (one, two) = await ruling(2)
    quicker = partial(two.configs.write, "topics/t1", {"theirs": "1"})
    interrupted(monkeypatch, one, repeat(quicker))
    with pytest.raises(VersionConflict):
        await one.configs.update("topics/t1", lambda config: {**config, "ours": "1"})
    assert await two.configs.read("topics/t1") == {"theirs": "1"}


async def nothing() -> None:
    """Nobody is quicker."""


async def test_every_broker_hears_of_a_change_once() -> None:
    _, (one, two) = await ruling(2)
    heard = Heard()
    await one.configs.notify("topics/t0")
    assert await two.configs.changed(heard.watch) == ["topics/t0"]
    for entity in ("topics/t1", "brokers/1", "topics/t1"):
        await one.configs.notify(entity)
    assert heard.told() == [("CHILDREN_CHANGED", "/config/changes")]
    assert await two.configs.changed() == ["brokers/1", "topics/t1"]
    assert await two.configs.changed() == []
    assert await one.configs.changed() == ["topics/t0", "brokers/1", "topics/t1"]


async def test_altering_writes_what_kafka_writes() -> None:
    store = RecordingStore()
    registry = Registry(store)
    await registry.cluster.ensure_paths()
    await registry.controller.elect(1, 1)
    await registry.configs.write("topics/t1", {})
    store.take()
    config = {"max.message.bytes": "200000", "retention.ms": "7200000", "segment.ms": "600000"}
    await registry.configs.write("topics/t1", config)
    await registry.configs.notify("topics/t1")
    assert store.take() == kafka_wrote("topic-config-alter")


@given(st.text())
def test_any_name_can_be_encoded(name: str) -> None:
    encoded = sanitize(name)
    assert encoded.isascii()
    assert "/" not in encoded
    assert desanitize(encoded) == name


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("alice@example", "alice%40example"),
        ("client 1", "client%201"),
        ("a b*~+é/%.-_:<d>", "a%20b%2A%7E%2B%C3%A9%2F%25.-_%3A%3Cd%3E"),
    ],
)
def test_names_as_kafka_encodes_them(name: str, encoded: str) -> None:
    assert sanitize(name) == encoded


@pytest.mark.parametrize(
    ("broken", "message"),
    [("%", "middle of an escape"), ("a%4", "middle of an escape"), ("%zz", "non-hexadecimal")],
)
def test_names_that_nobody_encoded(broken: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        desanitize(broken)
