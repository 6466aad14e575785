"""This broker's session with Apache ZooKeeper, as its settings want it.

Imported only where `zookeeper.connect` is set, and kazoo with it.
"""

import ssl
from typing import Final

from barnabas.server.core.startup import StartFailed
from barnabas.server.registry.acls import kafka_acl
from barnabas.server.registry.znodes.store import ConnectionLoss
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore, open_to_all
from barnabas.server.registry.znodes.zookeeper_session import ZookeeperServers
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.settings.zookeeper import parse_connect

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class ZookeeperRegistry:
    """An open session, and nothing behind it: the tree is ZooKeeper's."""

    def __init__(self, session: ZookeeperStore) -> None:
        self.session = session

    def expire_sessions(self) -> None:
        """ZooKeeper does that."""

    def abandon(self) -> None:
        """End as a killed process does: ZooKeeper waits for the session's time-out."""
        self.session.abandon()

    def close(self) -> None:
        """Let go of the connection, if the session has not been closed in good order before."""
        self.session.abandon()


async def open_zookeeper(config: BrokerConfig) -> ZookeeperRegistry:
    """Begin a session, and make the chroot if it is missing. Raises StartFailed, ZnodeError."""
    assert config.zookeeper_connect is not None
    servers, chroot = parse_connect(config.zookeeper_connect)
    digest = config.barnabas_zookeeper_digest
    session = ZookeeperStore(
        ZookeeperServers(
            servers,
            config.zookeeper_session_timeout_ms,
            config.zookeeper_max_in_flight_requests,
            _tls(config) if config.zookeeper_ssl_client_enable else None,
            None if digest is None else ("digest", digest),
        ),
        chroot,
        kafka_acl if config.zookeeper_set_acl else open_to_all,
    )
    wait_ms = config.zookeeper_connection_timeout_ms or config.zookeeper_session_timeout_ms
    try:
        await session.connect(wait_ms)
    except ConnectionLoss as error:
        raise StartFailed(
            f"no session with ZooKeeper in {wait_ms} ms ({error.path}); see `zookeeper.connect`"
            " and `zookeeper.connection.timeout.ms`; `barnabas zookeeper` runs one to develop with,"
            " and `--set zookeeper.connect=` leaves the registry to this broker alone"
        ) from None
    return ZookeeperRegistry(session)


def _tls(config: BrokerConfig) -> ssl.SSLContext:
    setting = "zookeeper.ssl.truststore.location"
    try:
        context = ssl.create_default_context(
            cafile=config.zookeeper_ssl_truststore_location or None
        )
        context.check_hostname = bool(config.zookeeper_ssl_endpoint_identification_algorithm)
        versions = config.zookeeper_ssl_enabled_protocols or (config.zookeeper_ssl_protocol,)
        context.minimum_version = min(_VERSIONS[each] for each in versions)
        if config.zookeeper_ssl_enabled_protocols:
            context.maximum_version = max(_VERSIONS[each] for each in versions)
        if config.zookeeper_ssl_keystore_location:
            setting = "zookeeper.ssl.keystore.location"
            context.load_cert_chain(
                config.zookeeper_ssl_keystore_location,
                password=config.zookeeper_ssl_keystore_password or "",
            )
    except OSError as error:
        path = getattr(config, setting.replace(".", "_"))
        raise StartFailed(f"{setting}={path}: {error}") from None
    return context
