"""Classic and consumer groups and their offsets."""

TABLE = """
group.min.session.timeout.ms int 6000 medium
    Shortest session timeout a member may ask for.
group.max.session.timeout.ms int 1800000 medium
    Longest session timeout a member may ask for.
group.initial.rebalance.delay.ms int 3000 medium
    How long an empty group waits for more members before its first rebalance.
group.max.size int 2147483647 medium [1..]
    Members of one classic group.
offset.metadata.max.bytes int 4096 high
    Longest text a client may store with an offset.
offsets.topic.num.partitions int 50 high [1..]
    Partitions of __consumer_offsets; not to be changed later.
offsets.topic.replication.factor short 3 high [1..]
    Replicas of __consumer_offsets.
offsets.topic.segment.bytes int 104857600 high [1..]
    Segment size of __consumer_offsets.
offsets.topic.compression.codec int 0 high
    Codec of __consumer_offsets, as a number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
offsets.load.buffer.size int 5242880 high [1..]
    Bytes read at a time while loading __consumer_offsets.
offsets.commit.required.acks short -1 high 3.9-only
    Acks that a commit waits for; only -1 is safe.
offsets.commit.timeout.ms int 5000 high [1..]
    How long a commit waits for replication.
offsets.retention.minutes int 10080 high [1..]
    How long offsets are kept once their group has no members, or was never more than commits.
offsets.retention.check.interval.ms long 600000 high [1..]
    How often offsets are checked for expiry.
group.coordinator.new.enable boolean false medium internal 3.9-only
    Kafka's switch for its newer group coordinator.
group.coordinator.rebalance.protocols list classic medium [consumer|classic|share|unknown]
  4.4: default=classic,consumer,streams [consumer|classic|share|streams]
    Group protocols this broker serves.
group.coordinator.threads int 1 medium [1..]
  4.4: default=4 importance=high
    Kafka's threads for groups.
group.coordinator.background.threads int 2 high 4.4-only [1..]
    Kafka's threads for assignments and other background work on groups.
group.coordinator.append.linger.ms int 10 medium [0..]
  4.4: default=-1 [-1..]
    How long group changes are gathered before they are written; -1 adapts to the load.
group.coordinator.cached.buffer.max.bytes int 1048588 medium cluster-wide 4.4-only [524288..]
    Largest write buffer kept for reuse by the group coordinator.
group.consumer.assignors list
  org.apache.kafka.coordinator.group.assignor.UniformAssignor,org.apache.kafka.coordinator.group.assignor.RangeAssignor
  medium
  4.4: default=uniform,range [non-empty-list]
    Assignors offered to consumer groups, the first one the default.
group.consumer.migration.policy string disabled medium internal
  [~DISABLED|DOWNGRADE|UPGRADE|BIDIRECTIONAL]
  4.4: default=bidirectional public
    Whether classic groups turn into consumer groups and back by themselves.
group.consumer.regex.refresh.interval.ms int 600000 medium internal 4.4-only [10000..]
    How often a subscription by pattern is matched against the topics again.
group.consumer.max.size int 2147483647 medium [1..]
    Members of one consumer group.
group.consumer.session.timeout.ms int 45000 medium [1..]
    Silence after which a consumer group's member is removed.
group.consumer.min.session.timeout.ms int 45000 medium [1..]
    Lowest session timeout a consumer group may be given.
group.consumer.max.session.timeout.ms int 60000 medium [1..]
    Highest session timeout a consumer group may be given.
group.consumer.heartbeat.interval.ms int 5000 medium [1..]
    Heartbeat interval told to members of consumer groups.
group.consumer.min.heartbeat.interval.ms int 5000 medium [1..]
    Lowest heartbeat interval a consumer group may be given.
group.consumer.max.heartbeat.interval.ms int 15000 medium [1..]
    Highest heartbeat interval a consumer group may be given.
group.consumer.assignment.interval.ms int 1000 medium cluster-wide 4.4-only [0..]
    Least time between two assignments of a consumer group.
group.consumer.min.assignment.interval.ms int 0 medium 4.4-only [0..]
    Lowest assignment interval a consumer group may be given.
group.consumer.max.assignment.interval.ms int 15000 medium 4.4-only [0..]
    Highest assignment interval a consumer group may be given.
group.consumer.assignor.offload.enable boolean true medium cluster-wide internal 4.4-only
    Compute assignments of consumer groups on background threads.
"""
