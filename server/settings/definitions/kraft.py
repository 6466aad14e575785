"""KRaft, which Barnabas is not: read, checked and reported, without effect."""

TABLE = """
process.roles list "" high [broker|controller]
  4.4: default=required
    Roles of a KRaft process; empty for a broker with a registry, which is all there is here.
controller.listener.names string null high
  4.4: type=list default=required [non-empty-list]
    Listeners of KRaft controllers.
controller.quorum.voters list "" high [quorum]
    The KRaft quorum as id@host:port,...
controller.quorum.bootstrap.servers list "" high [quorum]
    Where a KRaft quorum is found.
controller.quorum.auto.join.enable boolean false low 4.4-only
    Let a new controller join the quorum by itself.
controller.quorum.election.timeout.ms int 1000 high
  4.4: [0..]
    Silence after which a voter stands for election.
controller.quorum.election.backoff.max.ms int 1000 high
  4.4: [0..]
    Longest pause between two elections.
controller.quorum.fetch.timeout.ms int 2000 high
  4.4: [0..]
    Silence after which a quorum member looks for another leader.
controller.quorum.fetch.max.bytes int 1048576 low 4.4-only [1..]
    Bytes of one fetch of the metadata log.
controller.quorum.fetch.snapshot.max.bytes int 1048576 low 4.4-only [1..]
    Bytes of one fetch of a metadata snapshot.
controller.quorum.append.linger.ms int 25 medium
  4.4: [0..]
    How long metadata records are gathered before they are written.
controller.quorum.request.timeout.ms int 2000 medium
  4.4: [0..]
    How long a quorum member waits for an answer.
controller.quorum.retry.backoff.ms int 20 low
  4.4: [0..]
    Pause before a request to the quorum is repeated.
controller.performance.always.log.threshold.ms long 2000 medium internal 4.4-only [0..]
    Controller events slower than this are always logged.
controller.performance.sample.period.ms long 60000 medium internal 4.4-only [100..]
    How often the controller's speed is logged.
broker.heartbeat.interval.ms int 2000 medium
    How often a KRaft broker reports to the controller.
broker.session.timeout.ms int 9000 medium
    Silence after which a KRaft broker is fenced.
initial.broker.registration.timeout.ms int 60000 medium
    How long a KRaft broker tries to register while starting.
metadata.log.dir string null high
    Directory of the metadata log; the first data directory when unset.
metadata.log.segment.bytes int 1073741824 high [12..]
  4.4: [8388608..]
    Segment size of the metadata log.
metadata.log.segment.min.bytes int 8388608 high internal 3.9-only [12..]
    Least segment size of the metadata log.
metadata.log.segment.ms long 604800000 high
    Age at which a segment of the metadata log is closed.
metadata.log.max.record.bytes.between.snapshots long 20971520 high [1..]
    Bytes of metadata records between two snapshots.
metadata.log.max.snapshot.interval.ms long 3600000 high [0..]
    Longest time between two snapshots of metadata.
metadata.max.idle.interval.ms int 500 low [0..]
    How often an idle controller writes a record of no content.
metadata.max.retention.bytes long 104857600 high
    Size beyond which old metadata is deleted.
metadata.max.retention.ms long 604800000 high
    Age beyond which old metadata is deleted.
internal.metadata.delete.delay.millis long 60000 low internal 4.4-only
    How long removed metadata files wait before they leave the disk.
internal.metadata.log.segment.bytes int null low internal 4.4-only
    Segment size of the metadata log, for Kafka's own tests.
internal.metadata.max.batch.size.in.bytes int 8388608 low internal 4.4-only
    Largest batch of metadata records.
"""
