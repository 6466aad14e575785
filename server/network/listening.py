"""The listeners, and the limits of connections, that a broker's settings ask for."""

import asyncio

from barnabas.server.core.addresses import address
from barnabas.server.core.clock import Clock
from barnabas.server.core.startup import StartFailed
from barnabas.server.network.connection_quotas import Limits, ListenerLimits
from barnabas.server.network.listener import Listener, Population, Process, Tell
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.settings.endpoints import Endpoint

EVERY_INTERFACE = "0.0.0.0"


def bind_listeners(
    config: BrokerConfig,
    bound: list[Listener],
    population: Population,
    process: Process,
    clock: Clock,
    tell: Tell,
) -> None:
    """Bind all listeners; ports that were left to the system are known after this.

    Those that are bound are in `bound`, also when another cannot be. Raises StartFailed.
    """
    for endpoint in config.endpoints:
        listener = Listener(
            asyncio.get_running_loop(), endpoint.listener, endpoint.protocol, population,
            process, clock, tell,
        )  # fmt: skip
        _bind(listener, endpoint)
        bound.append(listener)


def _bind(listener: Listener, endpoint: Endpoint) -> None:
    host = endpoint.host or EVERY_INTERFACE
    try:
        listener.bind(host, endpoint.port)
    except OSError as error:
        raise StartFailed(
            f"cannot listen on {address(host, endpoint.port)}: {error.strerror or error}; "
            "set `listeners` to a free address"
        ) from None


def limits_of(config: BrokerConfig) -> Limits:
    """What bounds the connections."""
    return Limits(
        max_frame_bytes=config.socket_request_max_bytes,
        max_connections=config.max_connections,
        max_creation_rate=config.max_connection_creation_rate,
        max_connections_per_ip=config.max_connections_per_ip,
        per_ip_overrides=config.connections_per_ip,
        listeners={each.listener: _of_listener(config, each.listener) for each in config.endpoints},
        inter_broker_listener=config.inter_broker_listener,
        rate_windows=config.quota_window_num,
        rate_window_ms=config.quota_window_size_seconds * 1000,
        max_idle_ms=config.connections_max_idle_ms,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
        backlog=config.socket_listen_backlog_size,
        max_request_bytes=config.queued_max_request_bytes,
    )


def _of_listener(config: BrokerConfig, listener: str) -> ListenerLimits:
    """What bounds one listener: `listener.name.<name>.…`, else what holds for the broker."""
    return ListenerLimits(
        int(config.listener_text(listener, "max.connections") or 0),
        int(config.listener_text(listener, "max.connection.creation.rate") or 0),
    )
