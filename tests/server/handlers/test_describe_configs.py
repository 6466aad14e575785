"""DescribeConfigs: keys, sources, synonyms, types; topics, brokers, loggers."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.log_config import SETTINGS as LOG_SETTINGS
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.server.admin import BROKER, LOGGER, TOPIC, create, describe, new_topic, setting
from tests.server.names import unique
from tests.server.raw_client import RawClient

DYNAMIC_TOPIC, DEFAULT_BROKERS, STATIC, DEFAULT, LOGGERS = 1, 3, 4, 5, 6


@pytest.fixture
def topic(client: RawClient) -> str:
    name = unique("t")
    create(client, new_topic(name, settings={"retention.ms": "1234567"}))
    return name


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("keys", [None, []])
def test_without_keys_everything_is_described(
    client: RawClient, topic: str, version: int, keys: list[str] | None
) -> None:
    result = describe(client, TOPIC, topic, keys, version=version)
    assert (result.error_code, result.error_message) == (0, "")
    names = [config.name for config in result.configs]
    assert len(names) == len(set(names))
    assert set(names) <= set(LOG_SETTINGS)
    assert {"cleanup.policy", "retention.ms", "segment.bytes", "min.insync.replicas"} <= set(names)


def test_with_keys_only_the_known_ones(client: RawClient, topic: str) -> None:
    result = describe(client, TOPIC, topic, ["no.such.key", "retention.ms"])
    assert [config.name for config in result.configs] == ["retention.ms"]
    assert describe(client, TOPIC, topic, ["no.such.key"]).configs == []


def test_all_that_is_shown_of_a_topic_can_be_set(client: RawClient, topic: str) -> None:
    shown = {
        config.name: config.value
        for config in describe(client, TOPIC, topic).configs
        if not config.read_only
    }
    (result,) = create(client, new_topic(f"{topic}-copy", settings=shown))
    assert (result.error_code, result.error_message) == (0, None)


def test_where_values_come_from(client: RawClient, topic: str) -> None:
    own = setting(client, TOPIC, topic, "retention.ms")
    assert (own.value, own.config_source, own.read_only) == ("1234567", DYNAMIC_TOPIC, False)
    assert [(s.name, s.value, s.source) for s in own.synonyms] == [
        ("retention.ms", "1234567", DYNAMIC_TOPIC)
    ]
    default = setting(client, TOPIC, topic, "cleanup.policy")
    assert (default.value, default.config_source) == ("delete", DEFAULT)
    assert [(s.name, s.value, s.source) for s in default.synonyms] == [
        ("log.cleanup.policy", "delete", DEFAULT)
    ]


def test_a_brokers_file_shows_through_its_topics() -> None:
    settings = {"log.retention.hours": 3, "log.retention.bytes": 77}
    with Broker(settings) as broker, RawClient(broker.port) as client:
        create(client, new_topic("t"))
        found = setting(client, TOPIC, "t", "retention.bytes")
        assert (found.value, found.config_source) == ("77", STATIC)
        assert setting(client, TOPIC, "t", "retention.ms").value == str(3 * 3_600_000)
        hours = setting(client, BROKER, "0", "log.retention.hours")
        assert (hours.value, hours.config_source, hours.config_type) == ("3", STATIC, 3)


def test_synonyms_types_and_words_on_request_only(client: RawClient, topic: str) -> None:
    (plain,) = describe(client, TOPIC, topic, ["segment.bytes"]).configs
    assert (plain.synonyms, plain.config_type, plain.documentation) == ([], 3, None)
    (full,) = describe(
        client, TOPIC, topic, ["segment.bytes"], synonyms=True, documentation=True
    ).configs
    assert full.synonyms and full.documentation


def test_v0_says_what_is_a_default(client: RawClient, topic: str) -> None:
    configs = describe(client, TOPIC, topic, version=0).configs
    assert [config.name for config in configs if not config.is_default] == ["retention.ms"]


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (
            BROKER, "9", 42,
            "Unexpected broker id, expected 0 or empty string, but received 9",
        ),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER, "2147483648", 42, "Broker id must be an integer, but it is: 2147483648"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "9", 42, "Unexpected broker id, expected 0 but received 9"),
        (0, "x", 42, "Unsupported resource type: UNKNOWN"),
        (99, "x", 42, "Unsupported resource type: 99"),
        (32, "group", 42, "Unsupported resource type: 32"),
    ],
)  # fmt: skip
def test_refusals(client: RawClient, kind: int, name: str, code: int, message: str) -> None:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        ]
    )
    (result,) = client.call(request, 4).results
    assert (result.error_code, result.error_message, result.configs) == (code, message, [])
    assert (result.resource_type, result.resource_name) == (kind, name)


@pytest.mark.parametrize("name", ["9" * 5_000, "-" + "9" * 5_000, "\u0660", "0 ", "1_0"])
def test_a_broker_id_is_a_number_that_can_be_one(client: RawClient, name: str) -> None:
    for kind in (BROKER, LOGGER):
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        (result,) = client.call(DescribeConfigsRequest(resources=[resource]), 4).results
        assert result.error_code == 42
        assert (result.error_message or "").startswith("Broker id must be an integer, but it is: ")


def test_resources_are_answered_in_their_order(client: RawClient, topic: str) -> None:
    kinds = [(TOPIC, topic), (TOPIC, "nope"), (BROKER, "0"), (BROKER, "")]
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=int(kind), resource_name=name, configuration_keys=["retention.ms"]
            )
            for kind, name in kinds
        ]
    )
    results = client.call(request, 4).results
    assert [(r.resource_name, r.error_code) for r in results] == [
        (topic, 0), ("nope", 3), ("0", 0), ("", 0),
    ]  # fmt: skip


def test_passwords_are_hidden() -> None:
    settings = {"ssl.keystore.password": "hunter2"}
    with Broker(settings) as broker, RawClient(broker.port) as client:
        found = setting(client, BROKER, "0", "ssl.keystore.password")
        assert (found.value, found.is_sensitive, found.config_type) == (None, True, 9)
        assert {synonym.value for synonym in found.synonyms} == {None}


def test_what_cannot_change_is_read_only(client: RawClient) -> None:
    assert setting(client, BROKER, "0", "num.partitions").read_only
    assert not setting(client, BROKER, "0", "message.max.bytes").read_only


def test_the_cluster_default_has_nothing_of_its_own(client: RawClient) -> None:
    result = describe(client, BROKER, "")
    assert (result.error_code, result.configs) == (ErrorCode.NONE, [])


def test_loggers(client: RawClient) -> None:
    configs = {c.name: (c.value, c.config_source) for c in describe(client, LOGGER, "0").configs}
    assert configs["root"] == ("ERROR", LOGGERS)
    assert {"broker", "controller"} <= set(configs)
