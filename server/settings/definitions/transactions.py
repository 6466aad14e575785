"""Transactions and idempotent producers."""

TABLE = """
transaction.max.timeout.ms int 900000 high [1..]
    Longest transaction timeout a producer may ask for.
transactional.id.expiration.ms int 604800000 high [1..]
    How long an idle transactional id is remembered.
transaction.abort.timed.out.transaction.cleanup.interval.ms int 10000 low [1..]
    How often timed-out transactions are looked for and aborted.
transaction.remove.expired.transaction.cleanup.interval.ms int 3600000 low [1..]
    How often expired transactional ids are removed.
transaction.state.log.num.partitions int 50 high [1..]
    Partitions of __transaction_state; not to be changed later.
transaction.state.log.replication.factor short 3 high [1..]
    Replicas of __transaction_state.
transaction.state.log.min.isr int 2 high [1..]
    In-sync replicas that writing to __transaction_state needs.
transaction.state.log.segment.bytes int 104857600 high [1..]
    Segment size of __transaction_state.
transaction.state.log.load.buffer.size int 5242880 high [1..]
    Bytes read at a time while loading __transaction_state.
transaction.partition.verification.enable boolean true low cluster-wide
    Check with the coordinator that a partition belongs to the transaction before writing to it.
transaction.two.phase.commit.enable boolean false low 4.4-only
    Allow transactions that an outside coordinator commits (KIP-939).
add.partitions.to.txn.retry.backoff.ms int 20 high 4.4-only [1..]
    First pause before a partition is added again to a transaction that is still ending.
add.partitions.to.txn.retry.backoff.max.ms int 100 high 4.4-only [0..]
    Longest such pause.
producer.id.expiration.ms int 86400000 low cluster-wide [1..]
    How long an idle producer's sequence numbers are remembered.
producer.id.expiration.check.interval.ms int 600000 low internal [1..]
    How often producers are checked for expiry.
"""
