"""Listeners, sockets, connections and requests."""

TABLE = """
listeners string PLAINTEXT://:9092 high per-broker
  4.4: type=list [non-empty-list]
    Addresses to listen on, as NAME://host:port separated by commas; an empty host means every
    interface.
advertised.listeners string null high per-broker
  4.4: type=list read-only [non-empty-list]
    Addresses that clients are told to connect to; those of listeners when unset.
listener.security.protocol.map string
  SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT low per-broker
    The security protocol behind each listener name, as NAME:PROTOCOL pairs.
inter.broker.listener.name string null medium
    The listener that brokers use among themselves; excludes security.inter.broker.protocol.
security.inter.broker.protocol string PLAINTEXT medium [PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL]
    The security protocol between brokers when inter.broker.listener.name is unset.
control.plane.listener.name string null high 3.9-only
    A listener of its own for requests from the controller.
early.start.listeners string null high
  4.4: type=list [no-duplicates]
    Listeners opened before the authorizer has finished starting.
socket.send.buffer.bytes int 102400 high
    SO_SNDBUF of accepted sockets; -1 leaves it to the operating system.
socket.receive.buffer.bytes int 102400 high
    SO_RCVBUF of accepted sockets; -1 leaves it to the operating system.
socket.request.max.bytes int 104857600 high [1..]
    The largest request frame; a connection that announces more is closed.
socket.listen.backlog.size int 50 medium [1..]
    Connections the operating system may hold before they are accepted; at least 512 here.
socket.connection.setup.timeout.ms long 10000 medium
    First limit for opening a connection to another broker; it grows with every failure.
socket.connection.setup.timeout.max.ms long 30000 medium
    Where the growing limit for opening a connection ends.
connections.max.idle.ms long 600000 medium
    A connection without traffic for this long is closed; negative never.
connection.failed.authentication.delay.ms int 100 low [0..]
    How long a failed authentication keeps its connection open before the answer, against
    guessing.
max.connections int 2147483647 medium cluster-wide [0..]
    Connections of the whole broker, or of one listener. Beyond it new ones wait; those of the
    inter-broker listener come in, and close the least recently used one of another listener.
max.connections.per.ip int 2147483647 medium cluster-wide [0..]
    Connections from one address; more are closed at once.
max.connections.per.ip.overrides string "" medium cluster-wide
    Other connection limits for single addresses, as host:count pairs.
max.connection.creation.rate int 2147483647 medium cluster-wide [0..]
    New connections per second for the whole broker, or one listener; more are accepted later.
num.network.threads int 3 high cluster-wide [1..]
    Kafka's threads that move bytes; reported only, one event loop does it here.
num.io.threads int 8 high cluster-wide [1..]
    Kafka's threads that handle requests; reported only, one event loop does it here.
background.threads int 10 high cluster-wide [1..]
    Kafka's threads for background work.
queued.max.requests int 500 high [1..]
    Kafka's queue between network and request threads; reported only, a connection has one
    request at a time here, and what it sends behind that waits in its socket.
queued.max.request.bytes long -1 medium
    Bytes of requests above 16 KB that may be received at a time; beyond it, connections with
    such a request to come wait their turn; -1 for no limit.
request.timeout.ms int 30000 high
    How long this broker waits for the answer to a request of its own.
max.request.partition.size.limit int 2000 medium [1..]
    Partitions that one DescribeTopicPartitions answer lists at most.
server.max.startup.time.ms long 9223372036854775807 medium internal [0..]
    How long starting up may take.
unstable.api.versions.enable boolean false high internal
    Advertise API versions that are still being developed.
unstable.feature.versions.enable boolean false high internal
    Advertise feature versions that are still being developed.
config.providers list "" low cluster-wide 4.4-only [no-duplicates]
    Names of classes that look up values written as variables.
"""
