"""The registry: ZooKeeper, or the embedded one while `zookeeper.connect` is unset."""

from barnabas.server.settings.definitions.limits import PASSWORD
from barnabas.server.settings.definitions.row import HIGH, INTERNAL, LOW, MEDIUM, ONLY_3_9, Row
from barnabas.storage.setting_types import BOOLEAN, INT, LIST, STRING, at_least

# fmt: off
ROWS = (
    Row("zookeeper.connect", STRING, None, HIGH, flags={ONLY_3_9},
        text="ZooKeeper servers as host:port,... with an optional /chroot; unset, an embedded "
        "registry is used."),
    Row("zookeeper.session.timeout.ms", INT, "18000", HIGH, flags={ONLY_3_9},
        text="Session length agreed with ZooKeeper; a broker silent for longer counts as gone."),
    Row("zookeeper.connection.timeout.ms", INT, None, HIGH, flags={ONLY_3_9},
        text="How long start-up waits for ZooKeeper; the session length when unset."),
    Row("zookeeper.max.in.flight.requests", INT, "10", HIGH, limit=at_least(1), flags={ONLY_3_9},
        text="Requests to ZooKeeper that may be unanswered at a time."),
    Row("zookeeper.set.acl", BOOLEAN, "false", HIGH, flags={ONLY_3_9},
        text="Protect the znodes this broker writes by ACLs."),
    Row("zookeeper.clientCnxnSocket", STRING, None, MEDIUM, flags={ONLY_3_9},
        text="The Java client's socket class towards ZooKeeper."),
    Row("zookeeper.metadata.migration.enable", BOOLEAN, "false", HIGH, flags={ONLY_3_9},
        text="Kafka's switch for moving from ZooKeeper to KRaft."),
    Row("zookeeper.metadata.migration.min.batch.size", INT, "200", MEDIUM, limit=at_least(1),
        flags={INTERNAL, ONLY_3_9},
        text="Records per batch while moving from ZooKeeper to KRaft."),
    Row("zookeeper.ssl.client.enable", BOOLEAN, "false", MEDIUM, flags={ONLY_3_9},
        text="Use TLS towards ZooKeeper."),
    Row("zookeeper.ssl.cipher.suites", LIST, None, LOW, flags={ONLY_3_9},
        text="Cipher suites towards ZooKeeper."),
    Row("zookeeper.ssl.crl.enable", BOOLEAN, "false", LOW, flags={ONLY_3_9},
        text="Check revocation lists for ZooKeeper's certificate."),
    Row("zookeeper.ssl.enabled.protocols", LIST, None, LOW, flags={ONLY_3_9},
        text="TLS versions allowed towards ZooKeeper."),
    Row("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", LOW, flags={ONLY_3_9},
        text="Check of ZooKeeper's host name against its certificate; empty turns it off."),
    Row("zookeeper.ssl.keystore.location", STRING, None, MEDIUM, flags={ONLY_3_9},
        text="File with this broker's key and certificate towards ZooKeeper."),
    Row("zookeeper.ssl.keystore.password", PASSWORD, None, MEDIUM, flags={ONLY_3_9},
        text="Password of that file."),
    Row("zookeeper.ssl.keystore.type", STRING, None, MEDIUM, flags={ONLY_3_9},
        text="Format of that file; from its extension when unset."),
    Row("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", LOW, flags={ONLY_3_9},
        text="Ask OCSP about ZooKeeper's certificate."),
    Row("zookeeper.ssl.protocol", STRING, "TLSv1.2", LOW, flags={ONLY_3_9},
        text="TLS version for negotiating with ZooKeeper."),
    Row("zookeeper.ssl.truststore.location", STRING, None, MEDIUM, flags={ONLY_3_9},
        text="File with the certificates that ZooKeeper's is checked against."),
    Row("zookeeper.ssl.truststore.password", PASSWORD, None, MEDIUM, flags={ONLY_3_9},
        text="Password of the truststore towards ZooKeeper."),
    Row("zookeeper.ssl.truststore.type", STRING, None, MEDIUM, flags={ONLY_3_9},
        text="Format of the truststore towards ZooKeeper; from its extension when unset."),
)
# fmt: on
