"""`zookeeper.connect` and what belongs to it, as Kafka writes them.

zookeeper.connect = host:port,[::1]:port,host/chroot
barnabas.zookeeper.digest = user:password
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.server.settings.typed import TypedSettings

ZOOKEEPER_PORT: Final = 2181
MOST_PORT: Final = 65_535
PEM: Final = "PEM"
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")

Complaint = tuple[str, str]


class ZookeeperConnect(NamedTuple):
    """The servers, and the path of the root among their znodes: "" for their own root."""

    servers: tuple[tuple[str, int], ...]
    chroot: str


def parse_connect(text: str) -> ZookeeperConnect:
    """Read `zookeeper.connect`; raises ValueError with the reason."""
    hosts, slash, path = text.strip().partition("/")
    servers = tuple(_server(each.strip()) for each in hosts.split(",") if each.strip())
    if not servers:
        raise ValueError("names no server; it is host:port,... and /chroot if there is one")
    names = path.split("/") if path.strip("/") else []
    if slash and any(name in ("", ".", "..") for name in names):
        raise ValueError(f"/{path} is no path of a znode")
    return ZookeeperConnect(servers, "".join(f"/{name}" for name in names))


def zookeeper_complaints(config: TypedSettings) -> Iterator[Complaint]:
    """What is wrong with the settings of ZooKeeper, where it is to be used."""
    if not config.zookeeper_connect:
        return
    try:
        parse_connect(config.zookeeper_connect)
    except ValueError as error:
        yield "zookeeper.connect", str(error)
    for name in ("zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms"):
        value = getattr(config, name.replace(".", "_"))
        if value is not None and value <= 0:
            yield name, "must be above 0"
    yield from _credentials(config)
    if config.zookeeper_ssl_client_enable:
        yield from _tls(config)


def _credentials(config: TypedSettings) -> Iterator[Complaint]:
    digest = config.barnabas_zookeeper_digest
    if digest is not None and not all(digest.partition(":")):
        yield "barnabas.zookeeper.digest", "is not user:password"
    by_certificate = config.zookeeper_ssl_client_enable and config.zookeeper_ssl_keystore_location
    if config.zookeeper_set_acl and digest is None and not by_certificate:
        yield (
            "zookeeper.set.acl",
            "needs somebody to whom the znodes belong: barnabas.zookeeper.digest, or a"
            " certificate (zookeeper.ssl.client.enable, zookeeper.ssl.keystore.location)",
        )


def _tls(config: TypedSettings) -> Iterator[Complaint]:
    stores = (
        ("keystore", config.zookeeper_ssl_keystore_location, config.zookeeper_ssl_keystore_type),
        (
            "truststore",
            config.zookeeper_ssl_truststore_location,
            config.zookeeper_ssl_truststore_type,
        ),
    )
    for kind, location, type_ in stores:
        is_pem = type_ == PEM if type_ is not None else (location or ".pem").endswith(".pem")
        if not is_pem:
            yield (
                f"zookeeper.ssl.{kind}.location",
                f"only PEM is read here: convert it, and name it .pem or set the {kind}'s type",
            )
    for name in ("zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable"):
        if getattr(config, name.replace(".", "_")):
            yield name, "revocation is not checked here; only false"
    if config.zookeeper_ssl_cipher_suites:
        yield "zookeeper.ssl.cipher.suites", "cannot be chosen here; leave it out"
    versions = (config.zookeeper_ssl_protocol, *(config.zookeeper_ssl_enabled_protocols or ()))
    if any(version not in TLS_VERSIONS for version in versions):
        yield "zookeeper.ssl.enabled.protocols", f"must be among {', '.join(TLS_VERSIONS)}"


def _server(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(ZOOKEEPER_PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= MOST_PORT:
        raise ValueError(f"{text} is not host:port")
    return host, int(port)
