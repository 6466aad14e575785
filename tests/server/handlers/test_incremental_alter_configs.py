"""IncrementalAlterConfigs: set, delete, append, subtract; and that changes take effect."""

import pytest

from barnabas.server.registry.configs import StoredConfig
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.incremental_alter_configs import AlterConfigsResource
from tests.server.admin import (
    APPEND,
    BROKER,
    DELETE,
    LOGGER,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    create,
    new_topic,
    resource,
    setting,
    value,
)
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce


@pytest.mark.parametrize("version", [0, 1])
def test_set_and_delete(client: RawClient, version: int) -> None:
    name = f"v{version}"
    create(client, new_topic(name, settings={"retention.ms": "1"}))
    wanted = resource(TOPIC, name, ("segment.ms", SET, "77"), ("flush.ms", SET, "5"))
    assert alter(client, wanted, version=version) == [(0, None)]
    assert value(client, TOPIC, name, "segment.ms") == "77"
    assert value(client, TOPIC, name, "retention.ms") == "1"
    wanted = resource(
        TOPIC, name, ("segment.ms", DELETE, None), ("index.interval.bytes", DELETE, "x")
    )
    assert alter(client, wanted, version=version) == [(0, None)]
    assert value(client, TOPIC, name, "segment.ms") == "604800000"
    assert value(client, TOPIC, name, "flush.ms") == "5"


def test_lists_grow_and_shrink(client: RawClient) -> None:
    create(client, new_topic("lists"))

    def after(operation: int, text: str) -> str | None:
        assert alter(client, resource(TOPIC, "lists", ("cleanup.policy", operation, text))) == [
            (0, None)
        ]
        return value(client, TOPIC, "lists", "cleanup.policy")

    assert after(APPEND, "compact") == "delete,compact"
    assert after(APPEND, "compact,delete") == "delete,compact"
    assert after(SUBTRACT, "delete") == "compact"
    assert after(SUBTRACT, "compact") == ""


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (
            resource(TOPIC, "t", ("retention.ms", APPEND, "1")), 40,
            "Config value append is not allowed for config key: retention.ms",
        ),
        (
            resource(TOPIC, "t", ("no.such", SUBTRACT, "1")), 40,
            "Config value subtract is not allowed for config key: no.such",
        ),
        (resource(TOPIC, "t", ("no.such", SET, "1")), 40, "Unknown topic config name: no.such"),
        (
            resource(TOPIC, "t", ("retention.ms", SET, "x")), 40,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            resource(TOPIC, "t", ("retention.ms", SET, None)), 42,
            "Null value not supported for : retention.ms",
        ),
        (
            resource(TOPIC, "t", ("retention.ms", 9, "1")), 42,
            "Unknown operation 9 for config key: retention.ms",
        ),
        (
            resource(TOPIC, "t", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)), 42,
            "Error due to duplicate config keys",
        ),
        (resource(TOPIC, "nope", ("flush.ms", SET, "1")), 3, "The topic 'nope' does not exist."),
        (
            resource(BROKER, "0", ("num.partitions", SET, "9")), 42,
            "Cannot update these configs dynamically: num.partitions",
        ),
        (
            resource(BROKER, "0", ("log.retention.ms", APPEND, "1")), 40,
            "Config value append is not allowed for config key: log.retention.ms",
        ),
        (resource(LOGGER, "0", ("nope", SET, "WARN")), 40, "Logger nope does not exist!"),
        (
            resource(LOGGER, "0", ("root", SET, "warn")), 40,
            "Cannot set the log level of root to warn as it is not a supported log level. Valid "
            "log levels are TRACE, DEBUG, INFO, WARN, ERROR, FATAL",
        ),
        (
            resource(LOGGER, "0", ("root", DELETE, None)), 42,
            "Removing the log level of the root logger is not allowed",
        ),
        (
            resource(LOGGER, "0", ("root", APPEND, "WARN")), 42,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            resource(LOGGER, "9", ("root", SET, "WARN")), 42,
            "Unexpected node id. Expected 0, but received 9",
        ),
        (resource(LOGGER, "x", ("r", SET, "INFO")), 42, "Node id must be an integer, but it is: x"),
        (
            resource(LOGGER, "2147483648", ("root", SET, "INFO")), 42,
            "Node id must be an integer, but it is: 2147483648",
        ),
        (
            resource(4, "0", ("max.connections.per.ip.overrides", SET, "a:\u00b2")), 42,
            "max.connections.per.ip.overrides=a:\u00b2: a:\u00b2 is not host:count",
        ),
        (resource(16, "x", ("interval.ms", SET, "100")), 42, "Unknown resource type 16"),
        (resource(32, "g", ("a", SET, "b")), 42, "Unknown resource type 32"),
    ],
)  # fmt: skip
def test_refusals(client: RawClient, wanted: AlterConfigsResource, code: int, message: str) -> None:
    create(client, new_topic("t"))
    assert alter(client, wanted) == [(code, message)]


def test_a_deleted_key_may_be_unknown(client: RawClient) -> None:
    create(client, new_topic("forgiving"))
    assert alter(client, resource(TOPIC, "forgiving", ("no.such", DELETE, None))) == [(0, None)]


def test_all_or_nothing_within_a_resource(client: RawClient) -> None:
    create(client, new_topic("whole"), new_topic("other"))
    wanted = resource(TOPIC, "whole", ("flush.ms", SET, "5"), ("retention.ms", SET, "x"))
    outcome = alter(client, wanted, resource(TOPIC, "other", ("flush.ms", SET, "6")))
    assert [code for code, _ in outcome] == [ErrorCode.INVALID_CONFIG, 0]
    assert setting(client, TOPIC, "whole", "flush.ms").config_source == 5
    assert value(client, TOPIC, "other", "flush.ms") == "6"


def test_validate_only_changes_nothing(client: RawClient) -> None:
    create(client, new_topic("dry"))
    wanted = resource(TOPIC, "dry", ("flush.ms", SET, "5"))
    assert alter(client, wanted, validate_only=True) == [(0, None)]
    assert setting(client, TOPIC, "dry", "flush.ms").config_source == 5


def test_a_topics_change_takes_effect_at_once(client: RawClient) -> None:
    create(client, new_topic("effect"))

    def code() -> int:
        return produce(client, "effect", make_batch(b"x" * 2000)).error_code

    assert code() == 0
    alter(client, resource(TOPIC, "effect", ("max.message.bytes", SET, "1000")))
    assert code() == ErrorCode.MESSAGE_TOO_LARGE
    alter(client, resource(TOPIC, "effect", ("max.message.bytes", DELETE, None)))
    assert code() == 0


def test_changes_survive_a_restart() -> None:
    with Broker() as broker:
        with RawClient(broker.port) as client:
            create(client, new_topic("t"))
            outcome = alter(
                client,
                resource(TOPIC, "t", ("flush.ms", SET, "5")),
                resource(BROKER, "0", ("message.max.bytes", SET, "5000")),
                resource(BROKER, "", ("log.cleaner.backoff.ms", SET, "7")),
            )
            assert outcome == [(0, None)] * 3
        broker.restart()
        with RawClient(broker.port) as client:
            assert value(client, TOPIC, "t", "flush.ms") == "5"
            assert setting(client, TOPIC, "t", "max.message.bytes").value == "5000"
            found = setting(client, BROKER, "0", "message.max.bytes")
            assert (found.value, found.config_source) == ("5000", 2)
            found = setting(client, BROKER, "0", "log.cleaner.backoff.ms")
            assert (found.value, found.config_source) == ("7", 3)
            answer = produce(client, "t", make_batch(b"x" * 9000))
            assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_log_levels_last_until_a_restart() -> None:
    with Broker() as broker:
        with RawClient(broker.port) as client:
            wanted = resource(LOGGER, "0", ("controller", SET, "DEBUG"), ("root", SET, "FATAL"))
            assert alter(client, wanted) == [(0, None)]
            assert value(client, LOGGER, "0", "controller") == "DEBUG"
            assert value(client, LOGGER, "0", "root") == "ERROR"
            assert alter(client, resource(LOGGER, "0", ("controller", DELETE, None))) == [(0, None)]
            assert value(client, LOGGER, "0", "controller") == "ERROR"
            alter(client, resource(LOGGER, "0", ("controller", SET, "TRACE")))
        broker.restart()
        with RawClient(broker.port) as client:
            assert value(client, LOGGER, "0", "controller") == "ERROR"


def test_what_another_broker_sets_at_the_same_time_is_kept(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, new_topic("shared"))
    configs = broker.server.registry.configs
    read, others = configs.read_versioned, [{"retention.ms": "7"}]

    async def then_another(path: str) -> StoredConfig:
        stored = await read(path)
        if others:
            await configs.write(path, others.pop())
        return stored

    monkeypatch.setattr(configs, "read_versioned", then_another)
    assert alter(client, resource(TOPIC, "shared", ("flush.ms", SET, "5"))) == [(0, None)]
    assert value(client, TOPIC, "shared", "flush.ms") == "5"
    assert value(client, TOPIC, "shared", "retention.ms") == "7"
