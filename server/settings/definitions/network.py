"""Listeners, sockets, connections and requests."""

from barnabas.server.settings.definitions.limits import NO_DUPLICATES, NON_EMPTY_LIST
from barnabas.server.settings.definitions.row import (
    CLUSTER_WIDE,
    HIGH,
    INTERNAL,
    LOW,
    MEDIUM,
    ONLY_3_9,
    ONLY_4_4,
    PER_BROKER,
    READ_ONLY,
    Differs,
    Row,
)
from barnabas.storage.setting_types import BOOLEAN, INT, LIST, LONG, STRING, at_least, one_of

# fmt: off
ROWS = (
    Row("listeners", STRING, "PLAINTEXT://:9092", HIGH, mode=PER_BROKER,
        kafka_4=Differs(kind=LIST, limit=NON_EMPTY_LIST),
        text="Addresses to listen on, as NAME://host:port separated by commas; an empty host means "
        "every interface."),
    Row("advertised.listeners", STRING, None, HIGH, mode=PER_BROKER,
        kafka_4=Differs(kind=LIST, mode=READ_ONLY, limit=NON_EMPTY_LIST),
        text="Addresses that clients are told to connect to; those of listeners when unset."),
    Row("listener.security.protocol.map", STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", LOW,
        mode=PER_BROKER,
        text="The security protocol behind each listener name, as NAME:PROTOCOL pairs."),
    Row("inter.broker.listener.name", STRING, None, MEDIUM,
        text="The listener that brokers use among themselves; excludes "
        "security.inter.broker.protocol."),
    Row("security.inter.broker.protocol", STRING, "PLAINTEXT", MEDIUM,
        limit=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        text="The security protocol between brokers when inter.broker.listener.name is unset."),
    Row("control.plane.listener.name", STRING, None, HIGH, flags={ONLY_3_9},
        text="A listener of its own for requests from the controller."),
    Row("early.start.listeners", STRING, None, HIGH,
        kafka_4=Differs(kind=LIST, limit=NO_DUPLICATES),
        text="Listeners opened before the authorizer has finished starting."),
    Row("socket.send.buffer.bytes", INT, "102400", HIGH,
        text="SO_SNDBUF of accepted sockets; -1 leaves it to the operating system."),
    Row("socket.receive.buffer.bytes", INT, "102400", HIGH,
        text="SO_RCVBUF of accepted sockets; -1 leaves it to the operating system."),
    Row("socket.request.max.bytes", INT, "104857600", HIGH, limit=at_least(1),
        text="The largest request frame; a connection that announces more is closed."),
    Row("socket.listen.backlog.size", INT, "50", MEDIUM, limit=at_least(1),
        text="Connections the operating system may hold before they are accepted; at least 512 "
        "here."),
    Row("socket.connection.setup.timeout.ms", LONG, "10000", MEDIUM,
        text="First limit for opening a connection to another broker; it grows with every "
        "failure."),
    Row("socket.connection.setup.timeout.max.ms", LONG, "30000", MEDIUM,
        text="Where the growing limit for opening a connection ends."),
    Row("connections.max.idle.ms", LONG, "600000", MEDIUM,
        text="A connection without traffic for this long is closed; negative never."),
    Row("connection.failed.authentication.delay.ms", INT, "100", LOW, limit=at_least(0),
        text="How long a failed authentication keeps its connection open before the answer, "
        "against guessing."),
    Row("max.connections", INT, "2147483647", MEDIUM, mode=CLUSTER_WIDE, limit=at_least(0),
        text="Connections of the whole broker, or of one listener. Beyond it new ones wait; those "
        "of the inter-broker listener come in, and close the least recently used one of "
        "another listener."),
    Row("max.connections.per.ip", INT, "2147483647", MEDIUM, mode=CLUSTER_WIDE, limit=at_least(0),
        text="Connections from one address; more are closed at once."),
    Row("max.connections.per.ip.overrides", STRING, "", MEDIUM, mode=CLUSTER_WIDE,
        text="Other connection limits for single addresses, as host:count pairs."),
    Row("max.connection.creation.rate", INT, "2147483647", MEDIUM, mode=CLUSTER_WIDE,
        limit=at_least(0),
        text="New connections per second for the whole broker, or one listener; more are accepted "
        "later."),
    Row("num.network.threads", INT, "3", HIGH, mode=CLUSTER_WIDE, limit=at_least(1),
        text="Kafka's threads that move bytes; reported only, one event loop does it here."),
    Row("num.io.threads", INT, "8", HIGH, mode=CLUSTER_WIDE, limit=at_least(1),
        text="Kafka's threads that handle requests; reported only, one event loop does it here."),
    Row("background.threads", INT, "10", HIGH, mode=CLUSTER_WIDE, limit=at_least(1),
        text="Kafka's threads for background work."),
    Row("queued.max.requests", INT, "500", HIGH, limit=at_least(1),
        text="Kafka's queue between network and request threads; reported only, a connection has "
        "one request at a time here, and what it sends behind that waits in its socket."),
    Row("queued.max.request.bytes", LONG, "-1", MEDIUM,
        text="Bytes of requests above 16 KB that may be received at a time; beyond it, connections "
        "with such a request to come wait their turn; -1 for no limit."),
    Row("request.timeout.ms", INT, "30000", HIGH,
        text="How long this broker waits for the answer to a request of its own."),
    Row("max.request.partition.size.limit", INT, "2000", MEDIUM, limit=at_least(1),
        text="Partitions that one DescribeTopicPartitions answer lists at most."),
    Row("server.max.startup.time.ms", LONG, "9223372036854775807", MEDIUM, limit=at_least(0),
        flags={INTERNAL},
        text="How long starting up may take."),
    Row("unstable.api.versions.enable", BOOLEAN, "false", HIGH, flags={INTERNAL},
        text="Advertise API versions that are still being developed."),
    Row("unstable.feature.versions.enable", BOOLEAN, "false", HIGH, flags={INTERNAL},
        text="Advertise feature versions that are still being developed."),
    Row("config.providers", LIST, "", LOW, mode=CLUSTER_WIDE, limit=NO_DUPLICATES, flags={ONLY_4_4},
        text="Names of classes that look up values written as variables."),
)
# fmt: on
