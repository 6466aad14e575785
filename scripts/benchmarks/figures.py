"""What is measured, in the order of the table, and what each figure should be.

A figure has at most one aim: a limit of our own, above or below, or to be no worse than Apache
Kafka in the same run (`docs/performance.md` says where the aims come from).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    key: str
    label: str
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    at_least_kafka: bool = False

    @property
    def more_is_better(self) -> bool:
        return self.unit.endswith("/s") or self.at_least is not None

    def best(self, values: list[float]) -> float:
        return max(values) if self.more_is_better else min(values)

    def aim(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return "≥ Kafka" if self.at_least_kafka else ""

    def missed(self, ours: float, kafka: float | None) -> bool:
        if self.at_most is not None:
            return ours > self.at_most
        if self.at_least is not None:
            return ours < self.at_least
        return self.at_least_kafka and kafka is not None and ours < kafka


FIGURES = [
    Figure("start_s", "process start to first ApiVersions answer", "s", at_most=0.2),
    Figure("start_cpu_s", "CPU of that start", "s"),
    Figure("idle_mb", "resident when idle", "MB", at_most=40),
    Figure("loaded_mb", "resident after all loads", "MB", at_most=80),
    Figure("unbatched_1_cpu_us", "100 B produce, 1 connection: CPU each", "µs", at_most=35),
    Figure("unbatched_16_cpu_us", "100 B produce, 16 connections: CPU each", "µs", at_most=30),
    Figure("unbatched_1_rate", "100 B produce, 1 connection", "requests/s"),
    Figure("unbatched_16_rate", "100 B produce, 16 connections", "requests/s"),
    Figure("in_16k_cpu_s", "in, 16 KB batches: CPU per GB", "s", at_most=3),
    Figure("in_16k_idempotent_cpu_s", "in, 16 KB idempotent batches: CPU per GB", "s", at_most=3),
    Figure("in_900k_cpu_s", "in, 900 KB batches: CPU per GB", "s", at_most=1.5),
    Figure("in_900k_idempotent_cpu_s", "in, 900 KB idempotent: CPU per GB", "s", at_most=1.5),
    Figure("in_16k_rate", "in, 16 KB batches", "MB/s"),
    Figure("in_900k_rate", "in, 900 KB batches", "MB/s"),
    Figure("out_cpu_s", "out: CPU per GB", "s", at_most=0.4),
    Figure("out_rate", "out", "MB/s"),
    Figure("rdkafka_produce_100", "librdkafka produce 100 B", "k/s", at_least_kafka=True),
    Figure("rdkafka_produce_1000", "librdkafka produce 1 KB", "k/s", at_least_kafka=True),
    Figure("rdkafka_produce_10000", "librdkafka produce 10 KB", "MB/s", at_least_kafka=True),
    Figure("rdkafka_consume_100", "librdkafka consume 100 B", "k/s", at_least_kafka=True),
    Figure("rdkafka_consume_1000", "librdkafka consume 1 KB", "k/s", at_least_kafka=True),
    Figure("rdkafka_consume_10000", "librdkafka consume 10 KB", "MB/s", at_least_kafka=True),
    Figure("java_produce", "kafka-producer-perf-test 1 KB", "MB/s", at_least_kafka=True),
    Figure("java_consume", "kafka-consumer-perf-test 1 KB", "MB/s", at_least_kafka=True),
    Figure("end_to_end_p50_ms", "end to end p50", "ms", at_most=0.2),
    Figure("end_to_end_p99_ms", "end to end p99", "ms", at_most=0.6),
    Figure("compacting_p99_ms", "end to end p99 during compaction", "ms"),
    Figure("compacting_ratio", "that p99 as a multiple of the one before", "times", at_most=2),
    Figure("compacting_cpu_share", "CPU of the broker meanwhile", "cores"),
    Figure("seek_p50_ms", "random seek p50, librdkafka", "ms", at_most=1),
    Figure("raw_seek_p50_ms", "random seek p50, raw Fetch of 64 KB", "ms"),
    Figure("by_time_p50_ms", "ListOffsets by time p50, librdkafka", "ms", at_most=0.5),
    Figure("raw_by_time_p50_ms", "ListOffsets by time p50, raw", "ms"),
    Figure("fresh_group_ms", "first record of a fresh group, librdkafka", "ms", at_most=160),
    Figure("raw_fresh_group_ms", "first record of a fresh group, raw", "ms", at_most=20),
    Figure("plain_rate", "1 KB records in 16 KB batches, idempotence off", "k/s"),
    Figure("idempotent_rate", "the same with idempotence on", "k/s"),
    Figure("idempotent_rate_share", "rate with idempotence, of that without", "%", at_least=95),
    Figure("idempotent_cpu_share", "CPU without idempotence, of that with it", "%", at_least=95),
    Figure("txn_1_p50_ms", "transaction of 100 records, 4 partitions, TV1: p50", "ms", at_most=5),
    Figure("txn_1_p99_ms", "the same: p99", "ms"),
    Figure("txn_1_cpu_us", "the same: CPU each", "µs"),
    Figure("txn_2_p50_ms", "the same under TV2: p50", "ms", at_most=5),
    Figure("txn_2_p99_ms", "the same: p99", "ms"),
    Figure("txn_2_cpu_us", "the same: CPU each", "µs"),
    Figure("txn_paced_1_p50_ms", "the same, 10 ms apart, TV1: p50", "ms", at_most=5),
    Figure("txn_paced_2_p50_ms", "the same, 10 ms apart, TV2: p50", "ms", at_most=5),
    Figure("txn_ids_restart_s", "1,000 transactional ids, kill -9: start to all known", "s"),
    Figure("txn_ids_load_s", "the part of it after the first answer", "s", at_most=0.2),
    Figure("partitions_create_s", "create many partitions", "s", at_most=1.5),
    Figure("partitions_restart_s", "clean restart with them", "s", at_most=1),
    Figure("written_stop_s", "clean stop with 5,000 written ones", "s", at_most=1),
    Figure("written_restart_s", "clean restart with them", "s", at_most=1),
    Figure("partitions_mb", "resident with them", "MB", at_most=120),
    Figure("log_restart_s", "large log: clean restart", "s", at_most=0.4),
    Figure("log_recovery_s", "large log: restart after kill -9", "s"),
    Figure("log_consume_rate", "large log: consume", "MB/s", at_least_kafka=True),
    Figure("log_consume_cpu_s", "large log: consume, CPU per GB", "s"),
]
