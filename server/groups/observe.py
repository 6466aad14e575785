"""What the coordinator knows of its groups and has done, under the names of Kafka's metrics."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from barnabas.server.observing.metrics import Metrics

if TYPE_CHECKING:
    from barnabas.server.groups.coordinator import GroupCoordinator

_MANAGER = "kafka_coordinator_group_groupmetadatamanager"
_COORDINATOR = "kafka_server_group_coordinator_metrics"
_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Dead")


class GroupCounts:
    """What the coordinator has done since it was made."""

    __slots__ = (
        "group_completed_rebalance_count",
        "offset_commit_count",
        "offset_deletion_count",
        "offset_expiration_count",
    )

    def __init__(self) -> None:
        self.offset_commit_count = 0
        self.offset_expiration_count = 0
        self.offset_deletion_count = 0
        self.group_completed_rebalance_count = 0


def observe_groups(groups: GroupCoordinator, metrics: Metrics) -> None:
    """Show them; everything is counted when it is asked for."""

    def in_state(name: str) -> int:
        return sum(1 for group in groups.all_groups() if group.state.value == name)

    def group_count() -> int:
        return sum(1 for _ in groups.all_groups())

    def offset_count() -> int:
        return sum(len(group.offsets) for group in groups.all_groups())

    metrics.gauge(f"{_MANAGER}_numgroups", "groups coordinated here", group_count)
    metrics.gauge(f"{_MANAGER}_numoffsets", "committed offsets of all groups", offset_count)
    for state in _STATES:
        metrics.gauge(
            f"{_MANAGER}_numgroups{state.lower()}",
            f"groups in state {state}",
            partial(in_state, state),
        )
    for name, text in (
        ("offset_commit_count", "offsets committed"),
        ("offset_expiration_count", "offsets that expired"),
        ("offset_deletion_count", "offsets deleted on request"),
        ("group_completed_rebalance_count", "rebalances completed"),
    ):
        metrics.counter(f"{_COORDINATOR}_{name}", text, partial(getattr, groups.counts, name))
