"""The whole check."""

from __future__ import annotations

from exactly_once.checker.anomalies import Anomaly
from exactly_once.checker.history import History
from exactly_once.checker.moves import check_moves
from exactly_once.checker.order import (
    check_places,
    check_polls,
    check_send_order,
    check_write_order,
)
from exactly_once.checker.seen import arrange
from exactly_once.checker.stability import check_stability
from exactly_once.checker.visibility import check_reads, check_visibility

CHECKS = (
    check_visibility,
    check_reads,
    check_places,
    check_write_order,
    check_send_order,
    check_polls,
    check_stability,
    check_moves,
)


def check(history: History) -> list[Anomaly]:
    """Everything that must not be in a history, and is."""
    seen = arrange(history)
    return [anomaly for each in CHECKS for anomaly in each(history, seen)]
