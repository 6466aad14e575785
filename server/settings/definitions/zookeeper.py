"""The registry: ZooKeeper, or the embedded one while `zookeeper.connect` is unset."""

TABLE = """
zookeeper.connect string null high 3.9-only
    ZooKeeper servers as host:port,... with an optional /chroot; unset, an embedded registry is
    used.
zookeeper.session.timeout.ms int 18000 high 3.9-only
    Session length agreed with ZooKeeper; a broker silent for longer counts as gone.
zookeeper.connection.timeout.ms int null high 3.9-only
    How long start-up waits for ZooKeeper; the session length when unset.
zookeeper.max.in.flight.requests int 10 high 3.9-only [1..]
    Requests to ZooKeeper that may be unanswered at a time.
zookeeper.set.acl boolean false high 3.9-only
    Protect the znodes this broker writes by ACLs.
zookeeper.clientCnxnSocket string null medium 3.9-only
    The Java client's socket class towards ZooKeeper.
zookeeper.metadata.migration.enable boolean false high 3.9-only
    Kafka's switch for moving from ZooKeeper to KRaft.
zookeeper.metadata.migration.min.batch.size int 200 medium internal 3.9-only [1..]
    Records per batch while moving from ZooKeeper to KRaft.
zookeeper.ssl.client.enable boolean false medium 3.9-only
    Use TLS towards ZooKeeper.
zookeeper.ssl.cipher.suites list null low 3.9-only
    Cipher suites towards ZooKeeper.
zookeeper.ssl.crl.enable boolean false low 3.9-only
    Check revocation lists for ZooKeeper's certificate.
zookeeper.ssl.enabled.protocols list null low 3.9-only
    TLS versions allowed towards ZooKeeper.
zookeeper.ssl.endpoint.identification.algorithm string HTTPS low 3.9-only
    Check of ZooKeeper's host name against its certificate; empty turns it off.
zookeeper.ssl.keystore.location string null medium 3.9-only
    File with this broker's key and certificate towards ZooKeeper.
zookeeper.ssl.keystore.password password null medium 3.9-only
    Password of that file.
zookeeper.ssl.keystore.type string null medium 3.9-only
    Format of that file; from its extension when unset.
zookeeper.ssl.ocsp.enable boolean false low 3.9-only
    Ask OCSP about ZooKeeper's certificate.
zookeeper.ssl.protocol string TLSv1.2 low 3.9-only
    TLS version for negotiating with ZooKeeper.
zookeeper.ssl.truststore.location string null medium 3.9-only
    File with the certificates that ZooKeeper's is checked against.
zookeeper.ssl.truststore.password password null medium 3.9-only
    Password of the truststore towards ZooKeeper.
zookeeper.ssl.truststore.type string null medium 3.9-only
    Format of the truststore towards ZooKeeper; from its extension when unset.
"""
