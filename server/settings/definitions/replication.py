"""In-sync replicas, followers, elections and fetching."""

TABLE = """
min.insync.replicas int 1 high cluster-wide [1..]
    In-sync replicas without which a produce with acks=all is refused.
unclean.leader.election.enable boolean false high cluster-wide
    Let a replica lead that is not in sync, losing records, when no other is left.
unclean.leader.election.interval.ms long 300000 medium internal [1..]
    How often the controller looks for partitions that need an unclean election.
eligible.leader.replicas.enable boolean false high 3.9-only
    Kafka's switch for eligible leader replicas (KIP-966).
auto.leader.rebalance.enable boolean true high
    Give leaderships back to preferred replicas from time to time.
leader.imbalance.check.interval.seconds long 300 high [1..]
    How often leaderships are compared with the preferred ones.
leader.imbalance.per.broker.percentage int 10 high 3.9-only
    Share of leaderships away from their preferred broker that is put up with.
replica.lag.time.max.ms long 30000 high
    How long a follower may be behind the leader's end before it leaves the in-sync set.
replica.fetch.max.bytes int 1048576 medium [0..]
    Bytes a follower asks for per partition.
replica.fetch.min.bytes int 1 high
    Bytes a follower waits for.
replica.fetch.response.max.bytes int 10485760 medium [0..]
    Bytes a follower asks for in one answer.
replica.fetch.wait.max.ms int 500 high
    How long a follower waits for replica.fetch.min.bytes.
replica.fetch.backoff.ms int 1000 medium [0..]
    Pause of a follower after a failed fetch.
replica.socket.timeout.ms int 30000 high
    How long a follower waits for an answer.
replica.socket.receive.buffer.bytes int 65536 high
    SO_RCVBUF of a follower's connection.
replica.high.watermark.checkpoint.interval.ms long 5000 high
    How often high watermarks are written.
replica.selector.class string null medium
    A class that chooses the replica a consumer reads from; RackAwareReplicaSelector knows
    racks.
num.replica.fetchers int 1 high cluster-wide
  4.4: [1..]
    Connections for following each other broker.
controller.socket.timeout.ms int 30000 medium
    How long the controller waits for a broker's answer.
fetch.max.bytes int 57671680 medium [1024..]
    Bytes of one fetch answer, whatever the client allows.
max.incremental.fetch.session.cache.slots int 1000 medium [0..]
    Incremental fetch sessions remembered at a time.
fetch.purgatory.purge.interval.requests int 1000 medium
    Kafka's interval for clearing finished waits for fetches.
producer.purgatory.purge.interval.requests int 1000 medium
    Kafka's interval for clearing finished waits for produces.
delete.records.purgatory.purge.interval.requests int 1 medium
    Kafka's interval for clearing finished waits for record deletions.
follower.fetch.last.tiered.offset.enable boolean false medium cluster-wide 4.4-only
    Let a new follower of a tiered partition begin at the last tiered offset.
leader.replication.throttled.rate long 9223372036854775807 medium cluster-wide dynamic-only [0..]
    Bytes per second that throttled leaders send to followers.
follower.replication.throttled.rate long 9223372036854775807 medium cluster-wide dynamic-only [0..]
    Bytes per second that throttled followers fetch.
replica.alter.log.dirs.io.max.bytes.per.second long 9223372036854775807 medium cluster-wide
  dynamic-only [0..]
    Bytes per second for moving replicas between data directories.
"""
