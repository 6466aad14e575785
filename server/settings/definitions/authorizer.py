"""Settings that Kafka's authorizer reads from the same file, outside Kafka's own definitions."""

TABLE = """
super.users string "" medium plugin
    Users who may do everything, as User:name separated by semicolons.
allow.everyone.if.no.acl.found boolean false medium plugin
    Whether everybody may use a resource that no ACL names.
authorizer.zookeeper.url string null low plugin
    Another ZooKeeper for ACLs; that of zookeeper.connect when unset.
authorizer.zookeeper.connection.timeout.ms int null low plugin
    How long start-up waits for that ZooKeeper.
authorizer.zookeeper.session.timeout.ms int null low plugin
    Session length agreed with that ZooKeeper.
authorizer.zookeeper.max.in.flight.requests int null low plugin
    Requests to that ZooKeeper that may be unanswered at a time.
"""
