"""Share groups (KIP-932)."""

TABLE = """
group.share.enable boolean false medium internal 3.9-only
    Kafka's early switch for share groups.
group.share.max.groups short 10 medium 3.9-only [1..100]
    Share groups of one broker.
group.share.max.size short 200 medium [10..1000]
  4.4: type=int [1..1000]
    Members of one share group.
group.share.max.share.sessions int 2000 medium 4.4-only [1..]
    Share sessions remembered at a time.
group.share.assignors list simple medium 4.4-only [non-empty-list]
    Assignors for share groups.
group.share.session.timeout.ms int 45000 medium [1..]
    Silence after which a share group's member is removed.
group.share.min.session.timeout.ms int 45000 medium [1..]
    Lowest session timeout a share group may be given.
group.share.max.session.timeout.ms int 60000 medium [1..]
    Highest session timeout a share group may be given.
group.share.heartbeat.interval.ms int 5000 medium [1..]
    Heartbeat interval told to members of share groups.
group.share.min.heartbeat.interval.ms int 5000 medium [1..]
    Lowest heartbeat interval a share group may be given.
group.share.max.heartbeat.interval.ms int 15000 medium [1..]
    Highest heartbeat interval a share group may be given.
group.share.assignment.interval.ms int 1000 medium cluster-wide 4.4-only [0..]
    Least time between two assignments of a share group.
group.share.min.assignment.interval.ms int 0 medium 4.4-only [0..]
    Lowest assignment interval a share group may be given.
group.share.max.assignment.interval.ms int 15000 medium 4.4-only [0..]
    Highest assignment interval a share group may be given.
group.share.assignor.offload.enable boolean true medium cluster-wide internal 4.4-only
    Compute assignments of share groups on background threads.
group.share.delivery.count.limit int 5 medium [2..10]
    Deliveries of a record before it is given up.
group.share.min.delivery.count.limit int 2 medium 4.4-only [2..5]
    Lowest delivery limit a share group may be given.
group.share.max.delivery.count.limit int 10 medium 4.4-only [5..25]
    Highest delivery limit a share group may be given.
group.share.record.lock.duration.ms int 30000 medium [1000..60000]
  4.4: [1000..3600000]
    How long a delivered record belongs to its consumer before others get it.
group.share.min.record.lock.duration.ms int 15000 medium [1000..30000]
    Shortest lock a share group may be given.
group.share.max.record.lock.duration.ms int 60000 medium [30000..3600000]
    Longest lock a share group may be given.
group.share.partition.max.record.locks int 200 medium [100..10000]
  4.4: default=2000
    Records of one partition that may be delivered and unsettled.
group.share.min.partition.max.record.locks int 100 medium 4.4-only [100..2000]
    Lowest number of unsettled records a share group may be given.
group.share.max.partition.max.record.locks int 4000 medium 4.4-only [2000..10000]
    Highest number of unsettled records a share group may be given.
group.share.initialize.retry.interval.ms int 30000 low internal 4.4-only [1..]
    Pause before a share partition's failed initialisation is tried again.
group.share.persister.class.name string
  org.apache.kafka.server.share.persister.DefaultStatePersister medium internal 4.4-only
    The class that stores share groups' state.
group.share.dlq.manager.class.name string
  org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager medium internal 4.4-only
    The class that handles records given up by share groups.
share.fetch.purgatory.purge.interval.requests int 1000 medium 4.4-only
    Kafka's interval for clearing finished waits for share fetches.
share.coordinator.threads int 1 medium 4.4-only [1..]
    Kafka's threads for share groups' state.
share.coordinator.append.linger.ms int -1 medium 4.4-only [-1..]
    How long changes of share state are gathered before they are written; -1 adapts to the load.
share.coordinator.write.timeout.ms int 5000 high 4.4-only [1..]
    How long a write of share state may take.
share.coordinator.load.buffer.size int 5242880 high 4.4-only [1..]
    Bytes read at a time while loading share state.
share.coordinator.cached.buffer.max.bytes int 1048588 medium cluster-wide 4.4-only [524288..]
    Largest write buffer kept for reuse by the share coordinator.
share.coordinator.snapshot.update.records.per.snapshot int 500 medium 4.4-only [0..500]
    Updates of share state between two snapshots.
share.coordinator.cold.partition.snapshot.interval.ms int 300000 low internal 4.4-only [1..]
    How often share state that nobody changes is written again.
share.coordinator.state.topic.num.partitions int 50 high 4.4-only [1..]
    Partitions of __share_group_state; not to be changed later.
share.coordinator.state.topic.replication.factor short 3 high 4.4-only [1..]
    Replicas of __share_group_state.
share.coordinator.state.topic.min.isr short 2 high 4.4-only [1..]
    In-sync replicas that writing to __share_group_state needs.
share.coordinator.state.topic.segment.bytes int 104857600 high 4.4-only [1..]
    Segment size of __share_group_state.
share.coordinator.state.topic.compression.codec int 0 high 4.4-only
    Codec of __share_group_state, as a number.
share.coordinator.state.topic.prune.interval.ms int 300000 low internal 4.4-only [1..]
    How often outlived records of __share_group_state are deleted.
errors.deadletterqueue.auto.create.topics.enable boolean false medium cluster-wide 4.4-only
    Create the topics that take given-up records of share groups.
errors.deadletterqueue.topic.name.prefix string dlq. medium cluster-wide 4.4-only
    How the names of those topics begin.
"""
