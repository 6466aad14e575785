"""TLS to a real Apache ZooKeeper: PEM files, a certificate as who one is, and refusals."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from kafka_server import free_ports
from oracles import require_oracle, require_program

import barnabas
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry import paths
from barnabas.server.testing.zookeeper import ZookeeperServer

DAYS = "2"
NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory"


class Certificates(NamedTuple):
    """An authority, and two files with a key and a certificate of its making."""

    authority: Path
    server: Path
    client: Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    require_program("openssl")
    folder = tmp_path_factory.mktemp("certificates")
    authority, key = folder / "authority.pem", folder / "authority.key"
    _openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=authority", "-days", DAYS, "-keyout", key, "-out", authority,
    )  # fmt: skip
    made = [_signed(folder, name, authority, key) for name in ("server", "client")]
    return Certificates(authority, *made)


def _signed(folder: Path, name: str, authority: Path, authority_key: Path) -> Path:
    key, request, certificate, names = (
        folder / f"{name}.{end}" for end in ("key", "csr", "crt", "ext")
    )
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    _openssl(
        "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", f"/CN={name}", "-keyout", key, "-out", request,
    )  # fmt: skip
    _openssl(
        "x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority_key,
        "-CAcreateserial", "-days", DAYS, "-extfile", names, "-out", certificate,
    )  # fmt: skip
    both = folder / f"{name}.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def secure_port(
    certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """The port of a server that asks clients for certificates."""
    require_program("java")
    (port,) = free_ports(1)
    settings = {
        "serverCnxnFactory": NETTY,
        "secureClientPort": str(port),
        "secureClientPortAddress": "127.0.0.1",
        "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        "ssl.keyStore.location": str(certificates.server),
        "ssl.keyStore.type": "PEM",
        "ssl.trustStore.location": str(certificates.authority),
        "ssl.trustStore.type": "PEM",
    }
    folder = tmp_path_factory.mktemp("zookeeper")
    jars = require_oracle("jars-3.9.1")
    with ZookeeperServer(folder, jars=jars, settings=settings):
        yield port


def broker(port: int, certificates: Certificates, **settings: object) -> barnabas.Broker:
    given = {
        "zookeeper.connect": f"127.0.0.1:{port}/tls",
        "zookeeper.connection.timeout.ms": 10_000,
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.ssl.truststore.location": certificates.authority,
        "zookeeper.ssl.keystore.location": certificates.client,
    }
    return barnabas.Broker(given | {n.replace("_", "."): v for n, v in settings.items()})


def test_a_broker_is_known_by_its_certificate(secure_port: int, certificates: Certificates) -> None:
    settings = {"zookeeper_set_acl": "true", "zookeeper_ssl_enabled_protocols": "TLSv1.2"}
    with broker(secure_port, certificates, broker_id=1, **settings) as made:
        assert made.create_topic("t") == "t"
        store = made.server.registry.store
        found = made.run(store.get("/config/topics/t"))
        assert found.data is not None
        assert made.run(store.exists(paths.broker(1))) is not None


def test_who_shows_no_certificate_is_not_served(
    secure_port: int, certificates: Certificates
) -> None:
    nameless = broker(
        secure_port, certificates, zookeeper_connection_timeout_ms=1_000,
        zookeeper_ssl_keystore_location="",
    )  # fmt: skip
    with pytest.raises(StartFailed, match=r"no session with ZooKeeper in 1000 ms"):
        nameless.start()


def test_a_server_that_nobody_vouches_for_is_not_trusted(
    secure_port: int, certificates: Certificates, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    _openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=other", "-days", DAYS, "-keyout", tmp_path / "k", "-out", other,
    )  # fmt: skip
    trusting = broker(
        secure_port, certificates, zookeeper_connection_timeout_ms=1_000,
        zookeeper_ssl_truststore_location=other,
    )  # fmt: skip
    with pytest.raises(StartFailed, match="certificate verify failed"):
        trusting.start()


def test_a_file_that_is_not_there_is_named(secure_port: int, certificates: Certificates) -> None:
    mistaken = broker(secure_port, certificates, zookeeper_ssl_truststore_location="/no/such.pem")
    with pytest.raises(StartFailed, match=r"^zookeeper\.ssl\.truststore\.location=/no/such\.pem: "):
        mistaken.start()
