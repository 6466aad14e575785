"""The registration of a broker, of every version."""

import json

import pytest

from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.registry.broker_body import (
    BrokerRegistration,
    Endpoint,
    decode_broker,
    encode_broker,
)
from tests.server.registry import golden

PLAIN = Endpoint("PLAINTEXT", "h", 9092)
SECURE = Endpoint("SSL", "::1", 9093, "SSL")


@pytest.mark.parametrize("protocol", golden.PROTOCOLS, ids=str)
def test_every_registration_is_written_as_kafka_wrote_it(protocol: ProtocolVersion) -> None:
    seen = [item for item in golden.bodies_of(protocol) if item[0].startswith("/brokers/ids/")]
    for path, data in seen:
        broker = decode_broker(int(path.rpartition("/")[2]), data)
        assert encode_broker(broker, protocol) == data
        assert len(broker.endpoints) == 3
        assert broker.rack == f"rack-{broker.broker_id}"
    assert len(seen) >= 5


def test_a_broker_without_a_plaintext_listener_has_no_host() -> None:
    broker = BrokerRegistration(1, [SECURE], 17)
    data = (
        b'{"features":{},"listener_security_protocol_map":{"SSL":"SSL"},'
        b'"endpoints":["SSL://[::1]:9093"],"jmx_port":-1,"port":-1,"host":null,'
        b'"version":5,"timestamp":"17"}'
    )
    assert encode_broker(broker, (3, 9)) == data
    assert decode_broker(1, data) == broker


def test_host_and_port_are_those_of_the_first_plaintext_listener() -> None:
    later = Endpoint("X", "other", 9094)
    body = json.loads(encode_broker(BrokerRegistration(1, [SECURE, PLAIN, later], 17), (2, 6)))
    assert (body["host"], body["port"], body["version"]) == ("h", 9092, 4)
    assert "features" not in body


def test_features_and_an_endpoint_without_a_host() -> None:
    features = {"aa": (0, 2), "zz": (1, 3)}
    broker = BrokerRegistration(1, [PLAIN, Endpoint("X", "", 9094, "SSL")], 17, "r", 7, features)
    data = (
        b'{"features":{"aa":{"min_version":0,"max_version":2},'
        b'"zz":{"min_version":1,"max_version":3}},'
        b'"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","X":"SSL"},'
        b'"endpoints":["PLAINTEXT://h:9092","X://:9094"],"rack":"r","jmx_port":7,"port":9092,'
        b'"host":"h","version":5,"timestamp":"17"}'
    )
    assert encode_broker(broker, (2, 7)) == data
    assert decode_broker(1, data) == broker


def test_registrations_of_long_ago() -> None:
    first = b'{"version":1,"host":"h","port":9092,"jmx_port":99,"timestamp":"5"}'
    assert decode_broker(1, first) == BrokerRegistration(1, [PLAIN], 5, jmx_port=99)
    third = (
        b'{"version":3,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5","rack":"r",'
        b'"endpoints":["PLAINTEXT://h:9092","SSL://[::1]:9093"]}'
    )
    assert decode_broker(1, third) == BrokerRegistration(1, [PLAIN, SECURE], 5, "r")
