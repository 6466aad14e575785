"""`zookeeper.connect` and the settings beside it."""

import pytest

from barnabas.server.settings.config import load_config
from barnabas.server.settings.names import ConfigError
from barnabas.server.settings.zookeeper import ZookeeperConnect, parse_connect

CONNECT = {"zookeeper.connect": "zk:2181"}
TLS = CONNECT | {"zookeeper.ssl.client.enable": "true"}


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("zk", [("zk", 2181)], ""),
        ("zk:1,10.0.0.2:2", [("zk", 1), ("10.0.0.2", 2)], ""),
        (" zk:1 , zk2:2 /kafka/a", [("zk", 1), ("zk2", 2)], "/kafka/a"),
        ("[::1]:2182,[fe80::1]/", [("::1", 2182), ("fe80::1", 2181)], ""),
    ],
)
def test_servers_and_their_chroot(text: str, servers: list[tuple[str, int]], chroot: str) -> None:
    assert parse_connect(text) == ZookeeperConnect(tuple(servers), chroot)


@pytest.mark.parametrize(
    "text",
    ["/kafka", ",", "zk:", "zk:x", "zk:0", "zk:65536", ":2181", "zk:²", "zk/a//b", "zk/../a"],
)
def test_what_names_no_server_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"zookeeper\.connect="):
        load_config((), {"zookeeper.connect": text})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (CONNECT | {"zookeeper.set.acl": "true"}, r"zookeeper\.set\.acl=true: needs somebody"),
        (CONNECT | {"barnabas.zookeeper.digest": "alice"}, "is not user:password"),
        (CONNECT | {"zookeeper.session.timeout.ms": "0"}, "must be above 0"),
        (TLS | {"zookeeper.ssl.truststore.location": "t.jks"}, "only PEM"),
        (TLS | {"zookeeper.ssl.keystore.location": "k.pem", "zookeeper.ssl.keystore.type": "JKS"},
         "only PEM"),
        (TLS | {"zookeeper.ssl.crl.enable": "true"}, "revocation"),
        (TLS | {"zookeeper.ssl.cipher.suites": "X"}, "cannot be chosen"),
        (TLS | {"zookeeper.ssl.enabled.protocols": "TLSv1.1"}, "must be among"),
    ],
)  # fmt: skip
def test_what_would_silently_not_be_done_is_refused(
    settings: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load_config((), settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"zookeeper.set.acl": "true"},  # of no effect without ZooKeeper
        CONNECT | {"zookeeper.set.acl": "true", "barnabas.zookeeper.digest": "kafka:a:b"},
        TLS | {"zookeeper.set.acl": "true", "zookeeper.ssl.keystore.location": "k.pem"},
        TLS | {"zookeeper.ssl.keystore.location": "k", "zookeeper.ssl.keystore.type": "PEM"},
    ],
)
def test_what_goes_together(settings: dict[str, str]) -> None:
    assert load_config((), settings).zookeeper_session_timeout_ms == 18_000
