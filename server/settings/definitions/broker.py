"""The broker itself, new topics, and what it reports."""

TABLE = """
broker.id int -1 high
    Identity of this broker in its cluster; -1 takes the one in meta.properties or asks the
    registry for the next.
node.id int -1 high
  4.4: default=required [0..]
    Another name for broker.id; the two must agree when both are given.
broker.id.generation.enable boolean true medium 3.9-only
    Whether the registry may hand out a broker id when none is configured.
reserved.broker.max.id int 1000 medium 3.9-only [0..]
    The highest id left to configured brokers; generated ids begin above it.
broker.rack string null medium
    Where this broker stands; replicas are spread over racks and consumers may read from their
    own.
auto.create.topics.enable boolean true high
    Create a topic when a client asks for the metadata of one that does not exist.
delete.topic.enable boolean true high
    Allow topics to be deleted.
num.partitions int 1 medium [1..]
    Partitions of a topic whose creator gives no count.
default.replication.factor int 1 medium
    Replicas of a topic whose creator gives no count.
create.topic.policy.class.name class null low
    A class that may refuse new topics.
alter.config.policy.class.name class null low
    A class that may refuse changes of settings.
controlled.shutdown.enable boolean true medium
    Hand leaderships over to other brokers before stopping.
controlled.shutdown.max.retries int 3 medium 3.9-only
    Attempts at handing leaderships over before stopping anyway.
controlled.shutdown.retry.backoff.ms long 5000 medium 3.9-only
    Pause between attempts at handing leaderships over.
inter.broker.protocol.version string 3.9-IV0 medium 3.9-only [kafka-version]
    The oldest Kafka among the brokers of the cluster, as 2.8 or 3.9-IV0; brokers talk to each
    other as it can.
auto.include.jmx.reporter boolean true low 3.9-only
    Register the JMX reporter beside those in metric.reporters.
metric.reporters list "" low cluster-wide
  4.4: default=org.apache.kafka.common.metrics.JmxReporter [no-duplicates]
    Classes that publish metrics.
metrics.num.samples int 2 low [1..]
    Windows kept for each rate.
metrics.recording.level string INFO low
    Detail of recorded metrics: INFO, DEBUG or TRACE.
metrics.sample.window.ms long 30000 low [1..]
    Length of one window of a rate.
kafka.metrics.polling.interval.secs int 10 low [1..]
    How often the reporters of kafka.metrics.reporters collect.
kafka.metrics.reporters list "" low
  4.4: [no-duplicates]
    Classes that publish Yammer metrics.
telemetry.max.bytes int 1048576 low [1..]
    Largest telemetry payload accepted from a client.
password.encoder.cipher.algorithm string AES/CBC/PKCS5Padding low 3.9-only
    Cipher for passwords among the dynamic settings.
password.encoder.iterations int 4096 low 3.9-only [1024..]
    Rounds of key derivation for passwords among the dynamic settings.
password.encoder.key.length int 128 low 3.9-only [8..]
    Key length in bits for passwords among the dynamic settings.
password.encoder.keyfactory.algorithm string null low 3.9-only
    Key derivation for passwords among the dynamic settings.
password.encoder.old.secret password null medium 3.9-only
    The former password.encoder.secret while it is being changed.
password.encoder.secret password null medium 3.9-only
    Secret that encrypts passwords among the dynamic settings in ZooKeeper.
"""
