"""The registration of a broker: the body of /brokers/ids/<id>.

`endpoints` is what counts; `host` and `port` repeat the first PLAINTEXT endpoint for clients of
long ago, or are null and -1. Version 5 added `features` (inter-broker protocol 2.7), version 4
the map from listener names to security protocols; before that the listener's name was the
protocol, and version 1 had nothing but host and port.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.server.registry.bodies import FEATURE_VERSIONING_SINCE, ProtocolVersion, to_json

PLAINTEXT = "PLAINTEXT"
NO_JMX_PORT = -1


class Endpoint(NamedTuple):
    """Where a listener of a broker can be reached."""

    listener: str
    host: str
    port: int
    security_protocol: str = PLAINTEXT


class BrokerRegistration(NamedTuple):
    """What a broker tells the cluster about itself.

    `features` are the supported ranges, name to (lowest, highest).
    """

    broker_id: int
    endpoints: list[Endpoint]
    timestamp_ms: int
    rack: str | None = None
    jmx_port: int = NO_JMX_PORT
    features: Mapping[str, tuple[int, int]] = {}


def encode_broker(broker: BrokerRegistration, protocol: ProtocolVersion) -> bytes:
    """Write the body of /brokers/ids/<id> for an inter-broker protocol version."""
    with_features = protocol >= FEATURE_VERSIONING_SINCE
    plaintext = _first_plaintext(broker.endpoints)
    body: dict[str, Any] = {}
    if with_features:
        body["features"] = {
            name: {"min_version": lowest, "max_version": highest}
            for name, (lowest, highest) in broker.features.items()
        }
    body["listener_security_protocol_map"] = {
        endpoint.listener: endpoint.security_protocol for endpoint in broker.endpoints
    }
    body["endpoints"] = [_format_endpoint(endpoint) for endpoint in broker.endpoints]
    if broker.rack is not None:
        body["rack"] = broker.rack
    body["jmx_port"] = broker.jmx_port
    body["port"] = plaintext.port if plaintext else -1
    body["host"] = plaintext.host if plaintext else None
    body["version"] = 5 if with_features else 4
    body["timestamp"] = str(broker.timestamp_ms)
    return to_json(body).encode()


def decode_broker(broker_id: int, data: bytes) -> BrokerRegistration:
    """Read the body of /brokers/ids/<id>, any version."""
    body = json.loads(data)
    return BrokerRegistration(
        broker_id,
        _endpoints(body),
        int(body.get("timestamp", -1)),
        body.get("rack"),
        body.get("jmx_port", NO_JMX_PORT),
        {
            name: (versions["min_version"], versions["max_version"])
            for name, versions in body.get("features", {}).items()
        },
    )


def _first_plaintext(endpoints: list[Endpoint]) -> Endpoint | None:
    plaintext = (endpoint for endpoint in endpoints if endpoint.security_protocol == PLAINTEXT)
    return next(plaintext, None)


def _endpoints(body: Mapping[str, Any]) -> list[Endpoint]:
    if "endpoints" not in body:
        return [Endpoint(PLAINTEXT, body["host"], body["port"])]
    protocols = body.get("listener_security_protocol_map", {})
    return [_parse_endpoint(text, protocols) for text in body["endpoints"]]


def _parse_endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, _, address = text.partition("://")
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    return Endpoint(listener, host, int(port), protocols.get(listener, listener))


def _format_endpoint(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"
