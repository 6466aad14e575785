"""Tiered storage, which Barnabas has not: read, checked and reported, without effect."""

TABLE = """
remote.log.storage.system.enable boolean false medium
    Kafka's switch for tiered storage.
remote.log.storage.manager.class.name string null medium [non-empty]
    The class that moves segments to remote storage and reads them there.
remote.log.storage.manager.class.path string null medium
    Where that class is loaded from.
remote.log.storage.manager.impl.prefix string rsm.config. medium [non-empty]
    How the names of settings meant for that class begin.
remote.log.metadata.manager.class.name string
  org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager medium
  [non-empty]
    The class that keeps the metadata of remote segments.
remote.log.metadata.manager.class.path string null medium
    Where that class is loaded from.
remote.log.metadata.manager.impl.prefix string rlmm.config. medium [non-empty]
    How the names of settings meant for that class begin.
remote.log.metadata.manager.listener.name string null medium [non-empty]
    The listener that class connects to.
remote.log.metadata.custom.metadata.max.bytes int 128 low [0..]
    Most bytes a remote storage may add to a segment's metadata.
remote.log.index.file.cache.total.size.bytes long 1073741824 low cluster-wide [1..]
    Disk space for indexes fetched from remote storage.
remote.log.index.file.cache.ttl.ms long 900000 low internal 4.4-only [-1..]
    How long a fetched index is kept unused; -1 for ever.
remote.log.manager.thread.pool.size int 10 medium [1..]
  4.4: default=2
    Threads that look after remote segments.
remote.log.manager.copier.thread.pool.size int -1 medium [-1..]
  4.4: default=10 cluster-wide [1..]
    Threads that copy segments to remote storage.
remote.log.manager.expiration.thread.pool.size int -1 medium [-1..]
  4.4: default=10 cluster-wide [1..]
    Threads that delete expired remote segments.
remote.log.manager.follower.thread.pool.size int 2 medium cluster-wide 4.4-only [1..]
    Threads that follow remote segments of other leaders.
remote.log.manager.task.interval.ms long 30000 low [1..]
    How often remote segments are looked after.
remote.log.manager.task.retry.backoff.ms long 500 low internal [1..]
    First pause after a failure at remote storage.
remote.log.manager.task.retry.backoff.max.ms long 30000 low internal [1..]
    Longest pause between such attempts.
remote.log.manager.task.retry.jitter double 0.2 low internal [0..0.5]
    Random share of those pauses.
remote.log.manager.copy.max.bytes.per.second long 9223372036854775807 medium cluster-wide [1..]
    Limit for copying to remote storage.
remote.log.manager.copy.quota.window.num int 11 medium [1..]
    Windows over which that copying is measured.
remote.log.manager.copy.quota.window.size.seconds int 1 medium [1..]
    Length of one of those windows.
remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807 medium cluster-wide [1..]
    Limit for reading from remote storage.
remote.log.manager.fetch.quota.window.num int 11 medium [1..]
    Windows over which that reading is measured.
remote.log.manager.fetch.quota.window.size.seconds int 1 medium [1..]
    Length of one of those windows.
remote.log.reader.threads int 10 medium [1..]
  4.4: cluster-wide
    Threads that read from remote storage.
remote.log.reader.max.pending.tasks int 100 medium [1..]
    Reads from remote storage that may wait.
remote.fetch.max.wait.ms int 500 medium cluster-wide [1..]
    How long a fetch waits for remote storage.
remote.list.offsets.request.timeout.ms long 30000 medium cluster-wide 4.4-only [1..]
    How long ListOffsets waits for remote storage.
log.local.retention.bytes long -2 medium cluster-wide [-2..]
    Size kept on local disk of a tiered partition; -2 for that of log.retention.bytes.
log.local.retention.ms long -2 medium cluster-wide [-2..]
    Age kept on local disk of a tiered partition; -2 for that of log.retention.ms.
log.remote.copy.lag.bytes long -1 medium cluster-wide 4.4-only [-1..]
    Size of closed segments kept back from copying; -1 for that of local retention.
log.remote.copy.lag.ms long 0 medium cluster-wide 4.4-only [-1..]
    Age before which a closed segment is not copied; -1 for that of local retention.
"""
