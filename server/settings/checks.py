"""What must hold between settings before a broker starts.

Source: kafka.server.KafkaConfig.validateValues, and what this broker cannot be (a KRaft node, a
host of tiered storage).
"""

import re
from collections.abc import Iterator, Mapping

from barnabas.server.settings.endpoints import (
    Endpoint,
    check_advertised,
    check_ports,
    parse_endpoints,
    parse_protocol_map,
)
from barnabas.server.settings.names import ConfigError
from barnabas.server.settings.typed import TypedSettings
from barnabas.server.settings.zookeeper import zookeeper_complaints
from barnabas.storage.message_format import magic_of

Complaint = tuple[str, str]  # the setting to name, and what is wrong with it

KNOWN_RELEASES = ("2.8", "3.9", "4.4")
"""What `barnabas.pose.as` can look like; a release between two of them looks like the older."""

_RELEASE = re.compile(r"\d+(\.\d+)+", re.ASCII)
_COUNT = re.compile(r"\d{1,9}", re.ASCII)
_MIN_CLEANER_BYTES = 1 << 20


def check_together(
    config: TypedSettings, given: Mapping[str, str], places: Mapping[str, str]
) -> None:
    """Refuse settings that contradict each other; raises ConfigError.

    `given` are those not left at their defaults, `places` where each of them stands.
    """
    for name, reason in _complaints(config, given):
        place = f"{places[name]}: " if name in places else ""
        value = getattr(config, name.replace(".", "_"))
        text = given.get(name) or (",".join(value) if isinstance(value, tuple) else value)
        raise ConfigError(f"{place}{name}={text}: {reason}")


def listeners_of(config: TypedSettings) -> list[Endpoint]:
    """Where to listen; raises ValueError with the reason."""
    return parse_endpoints(config.listeners, _protocols(config))


def advertised_of(config: TypedSettings) -> list[Endpoint]:
    """Where clients are sent; raises ValueError with the reason."""
    return parse_endpoints(config.advertised_listeners or config.listeners, _protocols(config))


def data_dirs_of(config: TypedSettings) -> list[str]:
    """The data directories, each named once."""
    text = config.log_dir if config.log_dirs is None else config.log_dirs
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def inter_broker_listener_of(config: TypedSettings) -> str:
    """The name of the listener that brokers use among themselves."""
    name = config.inter_broker_listener_name or config.security_inter_broker_protocol
    return name.upper()


def connections_per_ip_of(config: TypedSettings) -> dict[str, int]:
    """The limits of single addresses; raises ValueError with the reason."""
    limits = {}
    text = config.max_connections_per_ip_overrides
    for pair in filter(None, (part.strip() for part in text.split(","))):
        host, _, count = pair.rpartition(":")
        if not host or not _COUNT.fullmatch(count):
            raise ValueError(f"{pair} is not host:count")
        limits[host] = int(count)
    return limits


def _protocols(config: TypedSettings) -> dict[str, str]:
    return parse_protocol_map(config.listener_security_protocol_map)


def _complaints(config: TypedSettings, given: Mapping[str, str]) -> Iterator[Complaint]:
    yield from _identity(config)
    yield from _listeners(config, given)
    yield from _own(config)
    yield from zookeeper_complaints(config)
    yield from _network(config)
    yield from _logs(config)
    yield from _replication(config)
    yield from _groups(config)
    yield from _security(config)


def _identity(config: TypedSettings) -> Iterator[Complaint]:
    if config.broker_id < -1:
        yield "broker.id", "must be at least -1"
    if config.broker_id_generation_enable and config.broker_id > config.reserved_broker_max_id:
        yield (
            "broker.id",
            f"must not exceed reserved.broker.max.id ({config.reserved_broker_max_id}) while"
            " broker.id.generation.enable is true",
        )
    if config.broker_id == -1 and not config.broker_id_generation_enable:
        yield "broker.id", "must be 0 or more when broker.id.generation.enable is false"
    if config.process_roles:
        yield (
            "process.roles",
            "there is no KRaft here; leave it out, and zookeeper.connect too for the registry"
            " inside the broker",
        )
    if config.remote_log_storage_system_enable:
        yield "remote.log.storage.system.enable", "there is no tiered storage here; only false"


def _listeners(config: TypedSettings, given: Mapping[str, str]) -> Iterator[Complaint]:
    setting = "listener.security.protocol.map"
    try:
        protocols = _protocols(config)
        setting = "listeners"
        endpoints = parse_endpoints(config.listeners, protocols)
        if not endpoints:
            yield setting, "must name at least one"
        check_ports(endpoints)
        setting = "advertised.listeners" if config.advertised_listeners else "listeners"
        advertised = advertised_of(config)
        if config.inter_broker_listener_name is not None:
            setting = "inter.broker.listener.name"
            yield from _inter_broker(config, given, protocols)
        check_advertised(endpoints, advertised, inter_broker_listener_of(config))
    except ValueError as error:
        yield setting, str(error)
    yield from _control_plane(config)


def _inter_broker(
    config: TypedSettings, given: Mapping[str, str], protocols: Mapping[str, str]
) -> Iterator[Complaint]:
    if inter_broker_listener_of(config) not in protocols:
        yield (
            "inter.broker.listener.name",
            f"has no protocol in listener.security.protocol.map ({', '.join(protocols)})",
        )
    if "security.inter.broker.protocol" in given:
        yield (
            "inter.broker.listener.name",
            "and security.inter.broker.protocol exclude each other",
        )


def _control_plane(config: TypedSettings) -> Iterator[Complaint]:
    name = config.control_plane_listener_name
    if name is None:
        return
    names = [endpoint.listener for endpoint in listeners_of(config)]
    if name.upper() not in names or name.upper() == inter_broker_listener_of(config):
        yield (
            "control.plane.listener.name",
            "must be one of listeners, and not the one between brokers",
        )


def _own(config: TypedSettings) -> Iterator[Complaint]:
    if config.barnabas_http_control and config.barnabas_http_port < 0:
        yield "barnabas.http.control", "needs barnabas.http.port; 0 takes any free one"
    pose = config.barnabas_pose_as
    if pose and not _RELEASE.fullmatch(pose):
        yield "barnabas.pose.as", "must be a version of Kafka, as 3.9, or empty"
    elif pose and _number(pose) > _number(KNOWN_RELEASES[-1]):
        known = ", ".join(KNOWN_RELEASES)
        yield (
            "barnabas.pose.as",
            f"is newer than what is known here: {known}, and what lies between",
        )


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])


def _network(config: TypedSettings) -> Iterator[Complaint]:
    if 0 < config.queued_max_request_bytes < config.socket_request_max_bytes:
        yield (
            "queued.max.request.bytes",
            f"must be at least socket.request.max.bytes ({config.socket_request_max_bytes}),"
            " or -1 for no limit",
        )
    overrides = config.max_connections_per_ip_overrides
    if config.max_connections_per_ip == 0 and not overrides:
        yield "max.connections.per.ip", "0 needs max.connections.per.ip.overrides beside it"
    try:
        connections_per_ip_of(config)
    except ValueError as error:
        yield "max.connections.per.ip.overrides", str(error)


def _logs(config: TypedSettings) -> Iterator[Complaint]:
    if not data_dirs_of(config):
        name = "log.dir" if config.log_dirs is None else "log.dirs"
        yield name, "must name at least one directory"
    for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
        value = getattr(config, name.replace(".", "_"))
        if value == 0:
            yield name, "must not be 0; -1 keeps everything"
        if value is not None:
            break
    yield from _message_format(config)
    lag_ms, most_ms = (
        config.log_cleaner_min_compaction_lag_ms,
        config.log_cleaner_max_compaction_lag_ms,
    )
    if lag_ms > most_ms:
        yield (
            "log.cleaner.min.compaction.lag.ms",
            f"must not exceed log.cleaner.max.compaction.lag.ms ({most_ms})",
        )
    share = config.log_cleaner_dedupe_buffer_size // max(1, config.log_cleaner_threads)
    if config.log_cleaner_enable and share <= _MIN_CLEANER_BYTES:
        yield "log.cleaner.dedupe.buffer.size", "must exceed 1 MiB for each of log.cleaner.threads"
    if not -1 <= config.offsets_commit_required_acks <= config.offsets_topic_replication_factor:
        yield "offsets.commit.required.acks", "must be -1 or a number of replicas"


def _message_format(config: TypedSettings) -> Iterator[Complaint]:
    protocol = config.inter_broker_protocol_version
    if magic_of(config.log_message_format_version) > magic_of(protocol):
        yield (
            "log.message.format.version",
            f"is newer than inter.broker.protocol.version ({protocol}) understands",
        )


def _replication(config: TypedSettings) -> Iterator[Complaint]:
    wait_ms = config.replica_fetch_wait_max_ms
    for name in ("replica.socket.timeout.ms", "replica.lag.time.max.ms"):
        limit_ms = getattr(config, name.replace(".", "_"))
        if wait_ms > limit_ms:
            yield "replica.fetch.wait.max.ms", f"must not exceed {name} ({limit_ms})"


def _groups(config: TypedSettings) -> Iterator[Complaint]:
    for kind in ("consumer", "share", "streams"):
        yield from _within(config, kind, "session.timeout.ms")
        yield from _within(config, kind, "heartbeat.interval.ms")
        beat = getattr(config, f"group_{kind}_heartbeat_interval_ms")
        if beat >= getattr(config, f"group_{kind}_session_timeout_ms"):
            yield (
                f"group.{kind}.heartbeat.interval.ms",
                f"must be below group.{kind}.session.timeout.ms",
            )
    yield from _within(config, "share", "record.lock.duration.ms")


def _within(config: TypedSettings, kind: str, what: str) -> Iterator[Complaint]:
    """group.<kind>.<what> must lie between its min. and max."""
    name, low, high = (f"group.{kind}.{prefix}{what}" for prefix in ("", "min.", "max."))
    value, least, most = (getattr(config, each.replace(".", "_")) for each in (name, low, high))
    if least > most:
        yield high, f"must be at least {low} ({least})"
    if not least <= value <= most:
        yield name, f"must lie between {low} ({least}) and {high} ({most})"


def _security(config: TypedSettings) -> Iterator[Complaint]:
    protocol = _protocols(config)[inter_broker_listener_of(config)]
    mechanism = config.sasl_mechanism_inter_broker_protocol
    if protocol.startswith("SASL") and mechanism not in config.sasl_enabled_mechanisms:
        enabled = ", ".join(config.sasl_enabled_mechanisms)
        yield (
            "sasl.mechanism.inter.broker.protocol",
            f"must be among sasl.enabled.mechanisms ({enabled})",
        )
