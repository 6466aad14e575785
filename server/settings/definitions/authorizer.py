"""Settings that Kafka's authorizer reads from the same file, outside Kafka's own definitions."""

from barnabas.server.settings.definitions.row import LOW, MEDIUM, PLUGIN, Row
from barnabas.storage.setting_types import BOOLEAN, INT, STRING

# fmt: off
ROWS = (
    Row("super.users", STRING, "", MEDIUM, flags={PLUGIN},
        text="Users who may do everything, as User:name separated by semicolons."),
    Row("allow.everyone.if.no.acl.found", BOOLEAN, "false", MEDIUM, flags={PLUGIN},
        text="Whether everybody may use a resource that no ACL names."),
    Row("authorizer.zookeeper.url", STRING, None, LOW, flags={PLUGIN},
        text="Another ZooKeeper for ACLs; that of zookeeper.connect when unset."),
    Row("authorizer.zookeeper.connection.timeout.ms", INT, None, LOW, flags={PLUGIN},
        text="How long start-up waits for that ZooKeeper."),
    Row("authorizer.zookeeper.session.timeout.ms", INT, None, LOW, flags={PLUGIN},
        text="Session length agreed with that ZooKeeper."),
    Row("authorizer.zookeeper.max.in.flight.requests", INT, None, LOW, flags={PLUGIN},
        text="Requests to that ZooKeeper that may be unanswered at a time."),
)
# fmt: on
