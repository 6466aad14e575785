"""Listeners, read and checked against each other."""

import pytest

from barnabas.server.settings.endpoints import (
    PROTOCOLS,
    Endpoint,
    check_advertised,
    check_ports,
    parse_endpoints,
    parse_protocol_map,
)

MAP = {name: name for name in PROTOCOLS} | {"INTERNAL": "SASL_SSL"}


def test_endpoints_have_name_host_port_and_protocol() -> None:
    text = "PLAINTEXT://:9092, internal://10.0.0.1:0,SSL://[::1]:9093,SASL_SSL://broker-1.lan:9094"
    assert parse_endpoints(text, MAP) == [
        Endpoint("PLAINTEXT", "", 9092, "PLAINTEXT"),
        Endpoint("INTERNAL", "10.0.0.1", 0, "SASL_SSL"),
        Endpoint("SSL", "::1", 9093, "SSL"),
        Endpoint("SASL_SSL", "broker-1.lan", 9094, "SASL_SSL"),
    ]
    assert str(Endpoint("SSL", "::1", 9093, "SSL")) == "SSL://[::1]:9093"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PLAINTEXT:/x", "PLAINTEXT:/x is not NAME://host:port"),
        ("PLAINTEXT://host", "PLAINTEXT://host is not NAME://host:port"),
        ("://host:1", "://host:1 is not NAME://host:port"),
        ("PLAINTEXT://host:-1", "PLAINTEXT://host:-1 is not NAME://host:port"),
        ("PLAINTEXT://a b:1", "PLAINTEXT://a b:1 is not NAME://host:port"),
        ("PLAINTEXT://:65536", "65536 is no port; they end at 65535"),
        ("OTHER://:1", "OTHER has no protocol in listener.security.protocol.map"),
        ("SSL://:1,ssl://:2", "the listener name SSL occurs 2 times"),
    ],
)
def test_a_bad_endpoint_is_explained(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_endpoints(text, MAP)
    assert str(refusal.value) == reason


def test_an_ipv4_and_an_ipv6_address_may_share_a_port() -> None:
    check_ports(parse_endpoints("SSL://127.0.0.1:9092,PLAINTEXT://[::1]:9092", MAP))
    with pytest.raises(ValueError, match="share port 9092"):
        check_ports(parse_endpoints("SSL://127.0.0.1:9092,PLAINTEXT://127.0.0.2:9092", MAP))


def test_ports_must_differ_but_for_zero() -> None:
    check_ports(parse_endpoints("SSL://:0,PLAINTEXT://:0", MAP))
    with pytest.raises(ValueError, match="SSL://a:1 and PLAINTEXT://b:1 share port 1"):
        check_ports(parse_endpoints("SSL://a:1,PLAINTEXT://b:1", MAP))


def test_the_protocol_map() -> None:
    assert parse_protocol_map("internal:SSL, A:PLAINTEXT") == {"INTERNAL": "SSL", "A": "PLAINTEXT"}
    with pytest.raises(ValueError, match="A:TLS is not NAME:PROTOCOL with one of PLAINTEXT, SSL"):
        parse_protocol_map("A:TLS")
    with pytest.raises(ValueError, match="A is mapped twice"):
        parse_protocol_map("A:SSL,a:SSL")


@pytest.mark.parametrize(
    ("advertised", "reason"),
    [
        ("SSL://b:1", "SSL is advertised but not among listeners"),
        ("INTERNAL://b:1", "PLAINTEXT, the listener between brokers, is not among them"),
        (
            "PLAINTEXT://0.0.0.0:1",
            "0.0.0.0 is an address that clients cannot connect to; set advertised.listeners",
        ),
    ],
)
def test_advertised_listeners_must_lead_somewhere(advertised: str, reason: str) -> None:
    listening = parse_endpoints("PLAINTEXT://:1,INTERNAL://:2", MAP)
    check_advertised(listening, parse_endpoints("PLAINTEXT://b:7", MAP), "PLAINTEXT")
    with pytest.raises(ValueError) as refusal:
        check_advertised(listening, parse_endpoints(advertised, MAP), "PLAINTEXT")
    assert str(refusal.value) == reason
