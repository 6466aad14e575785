"""Data directories, segments, retention, compaction, flushing, timestamps and codecs."""

TABLE = """
log.dir string /tmp/kafka-logs high
  4.4: type=list [non-empty-list]
    The data directory, when log.dirs is unset.
log.dirs string null high
  4.4: type=list [non-empty-list]
    Data directories, separated by commas; partitions are spread over them.
cordoned.log.dirs list "" medium per-broker 4.4-only [no-duplicates]
    Data directories that get no new partitions; * for all of them.
log.segment.bytes int 1073741824 high cluster-wide [14..]
  4.4: [1048576..]
    Size at which a segment is closed and the next begun.
log.roll.ms long null high cluster-wide
    Age at which a segment is closed even if small; log.roll.hours when unset.
log.roll.hours int 168 high [1..]
    log.roll.ms in hours.
log.roll.jitter.ms long null high cluster-wide
    Random share taken off the rolling age, so that segments do not all roll together;
    log.roll.jitter.hours when unset.
log.roll.jitter.hours int 0 high [0..]
    log.roll.jitter.ms in hours.
log.retention.ms long null high cluster-wide
    Age at which closed segments are deleted; -1 never; log.retention.minutes when unset.
log.retention.minutes int null high
    log.retention.ms in minutes; log.retention.hours when unset.
log.retention.hours int 168 high
    log.retention.ms in hours.
log.retention.bytes long -1 high cluster-wide
    Size of a partition beyond which its oldest segments are deleted; -1 for no limit.
log.retention.check.interval.ms long 300000 medium [1..]
    How often segments are checked for deletion.
log.cleanup.policy list delete medium cluster-wide [compact|delete]
    What happens to old segments: delete, compact or both.
log.segment.delete.delay.ms long 60000 high cluster-wide [0..]
    How long a removed file waits, renamed, before it leaves the disk.
log.cleaner.enable boolean true medium
    Run compaction at all.
log.cleaner.threads int 1 medium cluster-wide [0..]
    How many compactions may run at once.
log.cleaner.backoff.ms long 15000 medium cluster-wide [0..]
    Pause when there is nothing to compact.
log.cleaner.dedupe.buffer.size long 134217728 medium cluster-wide
    Memory for the maps from key to last offset, all compactions together.
log.cleaner.io.buffer.size int 524288 medium cluster-wide [0..]
    Memory for reading and writing, all compactions together.
log.cleaner.io.buffer.load.factor double 0.9 medium cluster-wide
    How full a map from key to last offset may get; fuller maps cover more log with more
    collisions.
log.cleaner.io.max.bytes.per.second double 1.7976931348623157E308 medium cluster-wide
    Limit for reading and writing by compaction.
log.cleaner.delete.retention.ms long 86400000 medium cluster-wide [0..]
    How long tombstones and transaction markers outlive compaction.
log.cleaner.min.cleanable.ratio double 0.5 medium cluster-wide [0..1]
    Share of a log that must be uncompacted before compaction is worth while.
log.cleaner.min.compaction.lag.ms long 0 medium cluster-wide [0..]
    Age before which a record is not compacted.
log.cleaner.max.compaction.lag.ms long 9223372036854775807 medium cluster-wide [1..]
    Age by which a record must have come to compaction.
log.flush.interval.messages long 9223372036854775807 high cluster-wide [1..]
    Records after which a partition is forced to disk.
log.flush.interval.ms long null high cluster-wide
    Time after which a partition is forced to disk; log.flush.scheduler.interval.ms when unset.
log.flush.scheduler.interval.ms long 9223372036854775807 high
    How often it is checked whether a partition must be forced to disk.
log.flush.offset.checkpoint.interval.ms int 60000 high [0..]
    How often recovery points are written.
log.flush.start.offset.checkpoint.interval.ms int 60000 high [0..]
    How often log start offsets are written.
log.index.interval.bytes int 4096 medium cluster-wide [0..]
    Bytes of log between two entries of an index.
log.index.size.max.bytes int 10485760 medium cluster-wide [4..]
    Size of an index at which its segment is closed.
log.preallocate boolean false medium cluster-wide
    Reserve a segment's full size when it is created.
log.initial.task.delay.ms long 30000 low internal [0..]
    How long after start-up the periodic work on logs begins.
log.dir.failure.timeout.ms long 30000 low [1..]
    How long a broker goes on when the controller cannot be told of a failed data directory.
log.message.format.version string 3.0-IV1 medium 3.9-only [kafka-version]
    Message format written while inter.broker.protocol.version is below 3.0.
log.message.downconversion.enable boolean true low cluster-wide 3.9-only
    Convert records for clients that understand only older message formats.
log.message.timestamp.type string CreateTime medium cluster-wide [CreateTime|LogAppendTime]
    Whether a record keeps its producer's time (CreateTime) or gets the broker's
    (LogAppendTime).
log.message.timestamp.before.max.ms long 9223372036854775807 medium cluster-wide [0..]
    How far a record's time may lie before the broker's.
log.message.timestamp.after.max.ms long 9223372036854775807 medium cluster-wide [0..]
  4.4: default=3600000
    How far a record's time may lie after the broker's.
log.message.timestamp.difference.max.ms long 9223372036854775807 medium cluster-wide 3.9-only [0..]
    How far a record's time may lie from the broker's, where the before and after limits are not
    set.
message.max.bytes int 1048588 high cluster-wide [0..]
    Largest record batch, after compression.
max.decompressed.message.bytes int 2147483639 medium cluster-wide 4.4-only [1..2147483639]
    Largest record of a compressed batch, once decompressed, that is appended.
compression.type string producer high cluster-wide [uncompressed|zstd|lz4|snappy|gzip|producer]
    Codec of stored batches; producer keeps what was sent.
compression.gzip.level int -1 medium cluster-wide [1..9,-1]
    Level for gzip; -1 for its own default.
compression.lz4.level int 9 medium cluster-wide [1..17]
    Level for lz4.
compression.zstd.level int 3 medium cluster-wide [-131072..22]
    Level for zstd.
num.recovery.threads.per.data.dir int 1 high cluster-wide [1..]
  4.4: default=2
    Logs of one data directory recovered at a time during start-up.
num.replica.alter.log.dirs.threads int null high
    How many replicas move between data directories at a time; the number of directories when
    unset.
"""
