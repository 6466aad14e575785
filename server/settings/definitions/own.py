"""Barnabas's own settings. Kafka has none of them; its tools show them like any other."""

from barnabas.server.settings.definitions.limits import LEVELS, NON_EMPTY, PASSWORD
from barnabas.server.settings.definitions.row import CLUSTER_WIDE, HIGH, LOW, MEDIUM, Row
from barnabas.storage.setting_types import BOOLEAN, INT, LIST, STRING, between, one_of

# fmt: off
ROWS = (
    Row("barnabas.http.port", INT, "-1", MEDIUM, limit=between(-1, 65535),
        text="Port that serves /metrics, /health (and /healthz, /readyz, /livez); 0 takes any free "
        "one, -1 serves nothing."),
    Row("barnabas.http.host", STRING, "127.0.0.1", MEDIUM, limit=NON_EMPTY,
        text="Address that port is opened on."),
    Row("barnabas.http.control", BOOLEAN, "false", MEDIUM,
        text="Whether that port also takes commands: faults, the clock, snapshots, stop and start, "
        "as tests want them. Whoever reaches the port can give them."),
    Row("barnabas.http.hosts", LIST, "", MEDIUM,
        text="Names, besides localhost and that address, by which programs may call a port with a "
        "control; any other Host is refused, lest a web page gives commands."),
    Row("barnabas.log.level", STRING, "info", MEDIUM, mode=CLUSTER_WIDE, limit=LEVELS,
        text="What is logged: error, warn, info, debug or trace, and exceptions by room, as "
        "info,replication=debug."),
    Row("barnabas.pose.as", STRING, "", LOW,
        text="A Kafka version to look like, as 3.9 or 4.4: its defaults, limits and list of "
        "settings; empty for those of 3.9 with the names of both."),
    Row("barnabas.registry.sync", BOOLEAN, "true", HIGH,
        text="Whether a change of the registry is forced to disk before it is acknowledged, as "
        "ZooKeeper does; false leaves that to the operating system, and a loss of power may "
        "take topics along."),
    Row("barnabas.zookeeper.digest", PASSWORD, None, MEDIUM,
        text="Name and password, as user:password, by which this broker is known to ZooKeeper (its "
        "digest scheme); with zookeeper.set.acl they own what it writes, so all brokers need the "
        "same."),
    Row("produce.validation", STRING, "fast", MEDIUM, limit=one_of("fast", "full"),
        text="How deep produced batches are checked: fast trusts the records inside a sound batch, "
        "full reads every record as Kafka does."),
)
# fmt: on
