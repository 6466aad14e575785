"""Listeners as settings write them, parsed and checked against each other as Kafka does.

    listeners = NAME://host:port,...         where to listen; host may be empty or [IPv6]
    advertised.listeners = the same           where clients are sent
    listener.security.protocol.map = NAME:PROTOCOL,...

A listener's name is upper case; without a map of its own it is the protocol's name. Source:
kafka.server.KafkaConfig and kafka.utils.CoreUtils.
"""

import string
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_IN_HOSTS = frozenset(string.ascii_letters + string.digits + "-%._:")


class Endpoint(NamedTuple):
    """One address of one listener; an empty host is every interface."""

    listener: str
    host: str
    port: int
    protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


def parse_protocol_map(text: str) -> dict[str, str]:
    """Listener name to security protocol; raises ValueError with the reason."""
    protocols: dict[str, str] = {}
    for pair in _members(text):
        name, _, protocol = pair.rpartition(":")
        if not name or protocol not in PROTOCOLS:
            raise ValueError(f"{pair} is not NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}")
        if name.upper() in protocols:
            raise ValueError(f"{name.upper()} is mapped twice")
        protocols[name.upper()] = protocol
    return protocols


def parse_endpoints(text: str, protocols: Mapping[str, str]) -> list[Endpoint]:
    """The endpoints of one `listeners` value; raises ValueError with the reason."""
    endpoints = [_endpoint(part, protocols) for part in _members(text)]
    names = Counter(endpoint.listener for endpoint in endpoints)
    for name, count in names.items():
        if count > 1:
            raise ValueError(f"the listener name {name} occurs {count} times")
    return endpoints


def check_ports(endpoints: Iterable[Endpoint]) -> None:
    """Refuse two listeners on one port, but for one IPv4 and one IPv6 address, and port 0."""
    by_port: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.port:
            by_port.setdefault(endpoint.port, []).append(endpoint)
    for port, sharing in by_port.items():
        if len(sharing) > 1 and not _one_of_each_family(sharing):
            names = " and ".join(str(endpoint) for endpoint in sharing)
            raise ValueError(f"{names} share port {port}")


def check_advertised(
    endpoints: Iterable[Endpoint], advertised: Iterable[Endpoint], inter_broker: str
) -> None:
    """Refuse advertised listeners that are not listened on, or that leave brokers nowhere."""
    names = {endpoint.listener for endpoint in endpoints}
    shown = {endpoint.listener for endpoint in advertised}
    if strange := sorted(shown - names):
        raise ValueError(f"{', '.join(strange)} is advertised but not among listeners")
    if inter_broker not in shown:
        raise ValueError(f"{inter_broker}, the listener between brokers, is not among them")
    for endpoint in advertised:
        if endpoint.host == "0.0.0.0":
            raise ValueError(
                "0.0.0.0 is an address that clients cannot connect to; set advertised.listeners"
            )


def _endpoint(text: str, protocols: Mapping[str, str]) -> Endpoint:
    listener, _, address = text.partition("://")
    host, _, port_text = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not listener or not port_text.isdecimal() or not _IN_HOSTS.issuperset(host):
        raise ValueError(f"{text} is not NAME://host:port")
    name, port = listener.upper(), int(port_text)
    if port > 65535:
        raise ValueError(f"{port} is no port; they end at 65535")
    if name not in protocols:
        raise ValueError(f"{name} has no protocol in listener.security.protocol.map")
    return Endpoint(name, host, port, protocols[name])


def _one_of_each_family(endpoints: Iterable[Endpoint]) -> bool:
    versions = sorted(_ip_version(endpoint.host) for endpoint in endpoints)
    return versions == [4, 6]


def _ip_version(host: str) -> int:
    import ipaddress  # only for a port that two listeners share

    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0


def _members(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
