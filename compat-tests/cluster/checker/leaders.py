"""What the registry said of leaders and in-sync sets."""

from __future__ import annotations

from collections.abc import Iterator

from exactly_once.checker.history import Place

from cluster.checker.anomalies import Anomaly, Kind
from cluster.checker.history import History


def check_leaders(history: History) -> Iterator[Anomaly]:
    """One leader in each epoch of a partition, and epochs only rise."""
    leaders: dict[tuple[Place, int], int] = {}
    last: dict[Place, tuple[int, int]] = {}
    for state in history.states:
        known = leaders.setdefault((state.place, state.leader_epoch), state.leader)
        if known != state.leader:
            what = f"{known} and {state.leader} in epoch {state.leader_epoch}"
            yield Anomaly(Kind.TWO_LEADERS, state.place, what)
        before = last.get(state.place, (-1, -1))
        if state.leader_epoch < before[0] or state.controller_epoch < before[1]:
            what = f"epochs (leader, controller) {before}, then "
            what += f"{(state.leader_epoch, state.controller_epoch)}"
            yield Anomaly(Kind.OLD_EPOCH, state.place, what)
        last[state.place] = state.leader_epoch, state.controller_epoch


def check_isr(history: History) -> Iterator[Anomaly]:
    """The in-sync set is of replicas, and the leader is in it."""
    for state in history.states:
        strange = set(state.isr) - set(state.replicas)
        if state.leader >= 0 and state.leader not in state.isr:
            strange.add(state.leader)
        if strange:
            what = f"{sorted(strange)}, in sync {state.isr}, replicas {state.replicas}"
            yield Anomaly(Kind.STRANGE_ISR, state.place, what)
