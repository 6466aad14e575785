"""AlterConfigs: a resource's own settings as a whole."""

from collections.abc import Sequence

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from tests.server.admin import BROKER, TOPIC, create, describe, new_topic, value
from tests.server.raw_client import RawClient

Pairs = Sequence[tuple[str, str | None]]


def replace(
    client: RawClient,
    *resources: tuple[int, str, Pairs],
    version: int = 2,
    validate_only: bool = False,
) -> list[tuple[int, str | None]]:
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=int(kind),
                resource_name=name,
                configs=[AlterableConfig(name=key, value=text) for key, text in pairs],
            )
            for kind, name, pairs in resources
        ],
        validate_only=validate_only,
    )
    responses = client.call(request, version).responses
    assert [(r.resource_type, r.resource_name) for r in responses] == [
        (int(kind), name) for kind, name, _ in resources
    ]
    return [(r.error_code, r.error_message) for r in responses]


def own(client: RawClient, topic: str) -> dict[str, str | None]:
    return {c.name: c.value for c in describe(client, TOPIC, topic).configs if c.config_source == 1}


@pytest.mark.parametrize("version", range(3))
def test_what_is_not_named_is_gone(client: RawClient, version: int) -> None:
    name = f"v{version}"
    create(client, new_topic(name, settings={"retention.ms": "1", "segment.ms": "2"}))
    pairs = [("retention.ms", "3"), ("flush.ms", "4")]
    assert replace(client, (TOPIC, name, pairs), version=version) == [(0, None)]
    assert own(client, name) == {"retention.ms": "3", "flush.ms": "4"}
    assert replace(client, (TOPIC, name, []), version=version) == [(0, None)]
    assert own(client, name) == {}


def test_validate_only_changes_nothing(client: RawClient) -> None:
    create(client, new_topic("dry", settings={"retention.ms": "1"}))
    assert replace(client, (TOPIC, "dry", [("retention.ms", "2")]), validate_only=True) == [
        (0, None)
    ]
    assert own(client, "dry") == {"retention.ms": "1"}


@pytest.mark.parametrize(
    ("kind", "name", "pairs", "code", "message"),
    [
        (TOPIC, "t", [("no.such", "x")], 40, "Unknown topic config name: no.such"),
        (
            TOPIC, "t", [("retention.ms", "x")], 40,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (TOPIC, "t", [("retention.ms", None)], 42, "Null value not supported for : retention.ms"),
        (
            TOPIC, "t", [("retention.ms", "1"), ("retention.ms", "2")], 42,
            "Error due to duplicate config keys",
        ),
        (TOPIC, "nope", [], 3, "The topic 'nope' does not exist."),
        (TOPIC, "", [], 42, "Default topic resources are not allowed."),
        (
            BROKER, "0", [("broker.id", "9")], 42,
            "Cannot update these configs dynamically: broker.id",
        ),
        (
            BROKER, "0", [("message.max.bytes", "x")], 42,
            "Invalid value x for configuration message.max.bytes: Not a number of type INT",
        ),
        (BROKER, "9", [], 42, "Unexpected broker id, expected 0, but received 9"),
        (BROKER, "x", [], 42, "Node id must be an integer, but it is: x"),
        (
            BROKER, "", [("listeners", "PLAINTEXT://:1")], 42,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "listeners",
        ),
        (8, "0", [("root", "INFO")], 42, "Unknown resource type 8"),
        (0, "x", [], 42, "Unknown resource type 0"),
    ],
)  # fmt: skip
def test_refusals(
    client: RawClient, kind: int, name: str, pairs: Pairs, code: int, message: str
) -> None:
    create(client, new_topic("t"))
    assert replace(client, (kind, name, pairs)) == [(code, message)]


def test_a_resource_named_twice_and_others_beside_it(client: RawClient) -> None:
    create(client, new_topic("one"), new_topic("two"))
    change = [("retention.ms", "5")]
    outcome = replace(client, (TOPIC, "one", change), (TOPIC, "two", change), (TOPIC, "one", []))
    assert [code for code, _ in outcome] == [42, 0, 42]
    assert outcome[0][1] == "Each resource must appear at most once."
    assert (own(client, "one"), own(client, "two")) == ({}, {"retention.ms": "5"})


def test_a_broker_and_the_default_for_all() -> None:
    key = "message.max.bytes"
    with Broker() as broker, RawClient(broker.port) as client:
        create(client, new_topic("t"))
        assert replace(client, (BROKER, "", [(key, "2000")]), (BROKER, "0", [(key, "3000")])) == [
            (0, None), (0, None),
        ]  # fmt: skip
        assert value(client, BROKER, "0", key) == "3000"
        assert value(client, BROKER, "", key) == "2000"
        assert value(client, TOPIC, "t", "max.message.bytes") == "3000"
        assert replace(client, (BROKER, "0", [])) == [(0, None)]
        assert value(client, BROKER, "0", key) == "2000"
        assert replace(client, (BROKER, "", [])) == [(0, None)]
        assert value(client, TOPIC, "t", "max.message.bytes") == "1048588"


def test_a_password_is_not_put_where_everybody_reads_it() -> None:
    pairs = [("listener.name.plaintext.ssl.keystore.password", "hunter2")]
    with Broker() as broker, RawClient(broker.port) as client:
        ((code, message),) = replace(client, (BROKER, "0", pairs))
        assert code == ErrorCode.INVALID_CONFIG
        assert message and "hunter2" not in message
