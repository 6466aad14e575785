"""The whole check."""

from __future__ import annotations

from cluster.checker import groups, leaders, records
from cluster.checker.anomalies import Anomaly
from cluster.checker.history import History

CHECKS = (
    records.check_acked,
    records.check_doubled,
    records.check_order,
    records.check_written,
    groups.check_reads,
    groups.check_offsets,
    groups.check_coverage,
    leaders.check_leaders,
    leaders.check_isr,
)


def check(history: History) -> list[Anomaly]:
    """Everything that must not be in a history, and is."""
    return [anomaly for each in CHECKS for anomaly in each(history)]
