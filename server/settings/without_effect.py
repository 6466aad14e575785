"""The settings that are checked and reported, and that nothing here reads.

`docs/settings.md` shows the others in bold; a test compares both with the code.
"""

from typing import Final

_PREFIXES: Final = (
    "alter.config.",
    "authorizer.zookeeper.",
    "controller.listener.",
    "controller.performance.",
    "controller.quorum.",
    "controller.quota.",
    "delegation.",
    "errors.",
    "group.consumer.",
    "group.coordinator.",
    "group.share.",
    "group.streams.",
    "internal.",
    "kafka.",
    "log.local.",
    "log.remote.",
    "metadata.",
    "metrics.",
    "password.",
    "remote.",
    "sasl.",
    "share.",
    "socket.connection.",
    "ssl.",
    "unstable.",
    "zookeeper.metadata.",
)
_NAMES: Final = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "auto.include.jmx.reporter",
        "background.threads",
        "broker.heartbeat.interval.ms",
        "broker.session.timeout.ms",
        "client.quota.callback.class",
        "config.providers",
        "connection.failed.authentication.delay.ms",
        "connections.max.reauth.ms",
        "control.plane.listener.name",
        "cordoned.log.dirs",
        "create.topic.policy.class.name",
        "delete.records.purgatory.purge.interval.requests",
        "early.start.listeners",
        "eligible.leader.replicas.enable",
        "fetch.purgatory.purge.interval.requests",
        "follower.fetch.last.tiered.offset.enable",
        "initial.broker.registration.timeout.ms",
        "log.cleaner.io.buffer.size",
        "log.dir.failure.timeout.ms",
        "log.preallocate",
        "metric.reporters",
        "num.io.threads",
        "num.network.threads",
        "principal.builder.class",
        "process.roles",
        "producer.purgatory.purge.interval.requests",
        "queued.max.requests",
        "replica.socket.receive.buffer.bytes",
        "security.providers",
        "server.max.startup.time.ms",
        "super.users",
        "telemetry.max.bytes",
        "transaction.two.phase.commit.enable",
        "unclean.leader.election.interval.ms",
        "zookeeper.clientCnxnSocket",
        "zookeeper.ssl.crl.enable",
        "zookeeper.ssl.ocsp.enable",
        "zookeeper.ssl.truststore.password",
    }
)


def is_without_effect(name: str) -> bool:
    """Whether a setting of Kafka's, of which there is one by that name, changes nothing here."""
    return name in _NAMES or name.startswith(_PREFIXES)
