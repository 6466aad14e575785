"""Streams groups (KIP-1071)."""

TABLE = """
group.streams.max.size int 2147483647 medium 4.4-only [1..]
    Members of one streams group.
group.streams.assignors list sticky medium 4.4-only [non-empty-list]
    Assignors for streams groups, the first one the default.
group.streams.session.timeout.ms int 45000 medium 4.4-only [1..]
    Silence after which a streams group's member is removed.
group.streams.min.session.timeout.ms int 45000 medium 4.4-only [1..]
    Lowest session timeout a streams group may be given.
group.streams.max.session.timeout.ms int 60000 medium 4.4-only [1..]
    Highest session timeout a streams group may be given.
group.streams.heartbeat.interval.ms int 5000 medium 4.4-only [1..]
    Heartbeat interval told to members of streams groups.
group.streams.min.heartbeat.interval.ms int 5000 medium 4.4-only [1..]
    Lowest heartbeat interval a streams group may be given.
group.streams.max.heartbeat.interval.ms int 15000 medium 4.4-only [1..]
    Highest heartbeat interval a streams group may be given.
group.streams.initial.rebalance.delay.ms int 3000 medium 4.4-only [0..]
    How long an empty streams group waits for more members before its first assignment.
group.streams.assignment.interval.ms int 1000 medium cluster-wide 4.4-only [0..]
    Least time between two assignments of a streams group.
group.streams.min.assignment.interval.ms int 0 medium 4.4-only [0..]
    Lowest assignment interval a streams group may be given.
group.streams.max.assignment.interval.ms int 15000 medium 4.4-only [0..]
    Highest assignment interval a streams group may be given.
group.streams.assignor.offload.enable boolean true medium cluster-wide internal 4.4-only
    Compute assignments of streams groups on background threads.
group.streams.num.standby.replicas int 0 medium 4.4-only [0..]
    Standby copies of each stateful task.
group.streams.max.standby.replicas int 2 medium 4.4-only [0..]
    Most standby copies a streams group may be given.
group.streams.num.warmup.replicas int 2 medium internal 4.4-only [0..]
    Extra copies that may catch up at a time before a task moves to them.
group.streams.max.warmup.replicas int 20 medium internal 4.4-only [0..]
    Most such copies a streams group may be given.
group.streams.acceptable.recovery.lag long 10000 medium internal 4.4-only [0..]
    Records that a copy may be behind and still count as caught up.
group.streams.task.offset.interval.ms int 60000 medium internal 4.4-only [1..]
    How often members report the offsets of their tasks.
group.streams.min.task.offset.interval.ms int 15000 medium internal 4.4-only [1..]
    Lowest such interval a streams group may be given.
group.streams.rack.aware.assignment.tags list "" low 4.4-only [no-duplicates]
    Client tags over which standby copies are spread.
group.streams.topology.description.plugin.class class null medium 4.4-only
    A class that receives descriptions of topologies.
"""
