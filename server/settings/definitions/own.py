"""Barnabas's own settings. Kafka has none of them; its tools show them like any other."""

TABLE = """
barnabas.http.port int -1 medium [-1..65535]
    Port that serves /metrics and /health; 0 takes any free one, -1 serves nothing.
barnabas.http.host string 127.0.0.1 medium [non-empty]
    Address that port is opened on.
barnabas.http.control boolean false medium
    Whether that port also takes commands: faults, the clock, snapshots, stop and start, as
    tests want them. Whoever reaches the port can give them.
barnabas.http.hosts list "" medium
    Names, besides localhost and that address, by which programs may call a port with a control;
    any other Host is refused, lest a web page gives commands.
barnabas.log.level string info medium cluster-wide [log-levels]
    What is logged: error, warn, info, debug or trace, and exceptions by room, as
    info,replication=debug.
barnabas.pose.as string "" low
    A Kafka version to look like, as 3.9 or 4.4: its defaults, limits and list of settings; empty
    for those of 3.9 with the names of both.
barnabas.registry.sync boolean true high
    Whether a change of the registry is forced to disk before it is acknowledged, as ZooKeeper
    does; false leaves that to the operating system, and a loss of power may take topics along.
produce.validation string fast medium [fast|full]
    How deep produced batches are checked: fast trusts the records inside a sound batch, full
    reads every record as Kafka does.
"""
