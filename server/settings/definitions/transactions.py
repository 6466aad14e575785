"""Transactions and idempotent producers."""

from barnabas.server.settings.definitions.limits import SHORT
from barnabas.server.settings.definitions.row import (
    CLUSTER_WIDE,
    HIGH,
    INTERNAL,
    LOW,
    ONLY_4_4,
    Row,
)
from barnabas.storage.setting_types import BOOLEAN, INT, at_least

# fmt: off
ROWS = (
    Row("transaction.max.timeout.ms", INT, "900000", HIGH, limit=at_least(1),
        text="Longest transaction timeout a producer may ask for."),
    Row("transactional.id.expiration.ms", INT, "604800000", HIGH, limit=at_least(1),
        text="How long an idle transactional id is remembered."),
    Row("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, "10000", LOW,
        limit=at_least(1),
        text="How often timed-out transactions are looked for and aborted."),
    Row("transaction.remove.expired.transaction.cleanup.interval.ms", INT, "3600000", LOW,
        limit=at_least(1),
        text="How often expired transactional ids are removed."),
    Row("transaction.state.log.num.partitions", INT, "50", HIGH, limit=at_least(1),
        text="Partitions of __transaction_state; not to be changed later."),
    Row("transaction.state.log.replication.factor", SHORT, "3", HIGH, limit=at_least(1),
        text="Replicas of __transaction_state."),
    Row("transaction.state.log.min.isr", INT, "2", HIGH, limit=at_least(1),
        text="In-sync replicas that writing to __transaction_state needs."),
    Row("transaction.state.log.segment.bytes", INT, "104857600", HIGH, limit=at_least(1),
        text="Segment size of __transaction_state."),
    Row("transaction.state.log.load.buffer.size", INT, "5242880", HIGH, limit=at_least(1),
        text="Bytes read at a time while loading __transaction_state."),
    Row("transaction.partition.verification.enable", BOOLEAN, "true", LOW, mode=CLUSTER_WIDE,
        text="Check with the coordinator that a partition belongs to the transaction before "
        "writing to it."),
    Row("transaction.two.phase.commit.enable", BOOLEAN, "false", LOW, flags={ONLY_4_4},
        text="Allow transactions that an outside coordinator commits (KIP-939)."),
    Row("add.partitions.to.txn.retry.backoff.ms", INT, "20", HIGH, limit=at_least(1),
        flags={ONLY_4_4},
        text="First pause before a partition is added again to a transaction that is still "
        "ending."),
    Row("add.partitions.to.txn.retry.backoff.max.ms", INT, "100", HIGH, limit=at_least(0),
        flags={ONLY_4_4},
        text="Longest such pause."),
    Row("producer.id.expiration.ms", INT, "86400000", LOW, mode=CLUSTER_WIDE, limit=at_least(1),
        text="How long an idle producer's sequence numbers are remembered."),
    Row("producer.id.expiration.check.interval.ms", INT, "600000", LOW, limit=at_least(1),
        flags={INTERNAL},
        text="How often producers are checked for expiry."),
)
# fmt: on
