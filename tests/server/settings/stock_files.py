"""What the `server.properties` files that Apache Kafka ships set: names and values alone."""

from typing import Final

_THREADS: Final = "num.network.threads=3 num.io.threads=8"
_SOCKETS: Final = (
    "socket.send.buffer.bytes=102400 socket.receive.buffer.bytes=102400"
    " socket.request.max.bytes=104857600"
)
_INTERNAL: Final = (
    "offsets.topic.replication.factor=1 transaction.state.log.replication.factor=1"
    " transaction.state.log.min.isr=1"
)
_SHARE: Final = (
    "share.coordinator.state.topic.replication.factor=1 share.coordinator.state.topic.min.isr=1"
)
_RETENTION: Final = "log.retention.hours=168 log.retention.check.interval.ms=300000"
_LOGS: Final = "num.partitions=1 num.recovery.threads.per.data.dir=1"
_PROTOCOLS: Final = (
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,"
    "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL controller.listener.names=CONTROLLER"
)
_COMMON: Final = f"{_THREADS} {_SOCKETS} {_LOGS} {_INTERNAL} {_RETENTION}"
_COMBINED: Final = (
    "process.roles=broker,controller node.id=1 listeners=PLAINTEXT://:9092,CONTROLLER://:9093"
    " inter.broker.listener.name=PLAINTEXT"
    " advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"
    f" {_PROTOCOLS} {_COMMON} log.dirs=/tmp/kraft-combined-logs log.segment.bytes=1073741824"
)
_BROKER: Final = (
    "process.roles=broker node.id=2 controller.quorum.bootstrap.servers=localhost:9093"
    " listeners=PLAINTEXT://localhost:9092 inter.broker.listener.name=PLAINTEXT"
    f" advertised.listeners=PLAINTEXT://localhost:9092 {_PROTOCOLS} {_COMMON}"
    " log.dirs=/tmp/kraft-broker-logs log.segment.bytes=1073741824"
)

ZOOKEEPER: Final = (
    f"broker.id=0 {_COMMON} log.dirs=/tmp/kafka-logs zookeeper.connect=localhost:2181"
    " zookeeper.connection.timeout.ms=18000 group.initial.rebalance.delay.ms=0"
)
KRAFT: Final = {
    "3.9 kraft/server.properties": f"{_COMBINED} controller.quorum.voters=1@localhost:9093",
    "3.9 kraft/reconfig-server.properties": (
        f"{_COMBINED} controller.quorum.bootstrap.servers=localhost:9093"
    ),
    "3.9 kraft/broker.properties": _BROKER,
    "4 server.properties": (
        f"{_COMBINED} controller.quorum.bootstrap.servers=localhost:9093 {_SHARE}"
    ),
    "4 broker.properties": f"{_BROKER} {_SHARE}",
}
CONTROLLER: Final = (
    "process.roles=controller node.id=1 controller.quorum.bootstrap.servers=localhost:9093"
    " listeners=CONTROLLER://:9093 advertised.listeners=CONTROLLER://localhost:9093"
    f" controller.listener.names=CONTROLLER {_COMMON} log.dirs=/tmp/kraft-controller-logs"
)


def as_file(pairs: str) -> str:
    """Pairs as a properties file has them, one a line."""
    return "\n".join(["# as Kafka ships it", *pairs.split(), ""])
