"""What a run has found, and how runs look side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

MOST = 20
"""Anomalies that are told one by one."""


@dataclass
class Result:
    """What happened, and what must not have."""

    brokers: str
    acked: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    longest_pause_s: float = 0.0
    read_by_group: int = 0
    commits: int = 0
    transactions: dict[str, int] = field(default_factory=dict)
    leader_epochs: int = 0
    strikes: dict[str, int] = field(default_factory=dict)
    healed_s: float = -1.0
    exits: dict[str, int] = field(default_factory=dict)
    compared: dict[str, int] = field(default_factory=dict)
    anomalies: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    of_clients: list[str] = field(default_factory=list)
    """Anomalies of transactions that clients have made by themselves."""
    hanging: str = ""
    slow_stops: list[int] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Nothing was lost, doubled, out of order or different, and everything came to an end."""
        return not (self.anomalies or self.differences or self.hanging or self.failures)

    def row(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self) | {"is_good": self.is_good}

    def __str__(self) -> str:
        return side_by_side([self])


def side_by_side(results: Sequence[Result]) -> str:
    """A table with a column for each run, then what is wrong with each."""
    table = [("", [result.brokers for result in results])]
    table += [("acknowledged", [f"{sum(each.acked.values()):,}" for each in results])]
    clients = sorted({name for each in results for name in each.acked})
    table += [
        (f"  {name}", [f"{each.acked.get(name, 0):,}" for each in results]) for name in clients
    ]
    table += [
        ("failed (unknown)", [f"{each.failed:,}" for each in results]),
        ("longest pause", [f"{each.longest_pause_s:.1f} s" for each in results]),
        ("read by the group", [f"{each.read_by_group:,}" for each in results]),
        ("commits answered", [f"{each.commits:,}" for each in results]),
        ("leader epochs", [f"{each.leader_epochs}" for each in results]),
        ("in sync after", [f"{each.healed_s:.1f} s" for each in results]),
        ("ended by themselves", [f"{sum(each.exits.values())}" for each in results]),
        ("did not stop in time", [f"{len(each.slow_stops)}" for each in results]),
    ]
    for title, of in (("transactions", "transactions"), ("trouble", "strikes")):
        names = sorted({name for each in results for name in getattr(each, of)})
        table += [(title, ["" for _ in results])]
        table += [
            (f"  {name}", [f"{getattr(e, of).get(name, 0)}" for e in results]) for name in names
        ]
    table += [
        ("partitions the same", [_compared(each) for each in results]),
        ("partitions that differ", [f"{len(each.differences)}" for each in results]),
        ("anomalies", [f"{sum(each.anomalies.values())}" for each in results]),
    ]
    names = sorted(Counter(name for each in results for name in each.anomalies))
    table += [
        (f"  {name}", [f"{each.anomalies.get(name, 0)}" for each in results]) for name in names
    ]
    table += [("verdict", ["good" if each.is_good else "NOT GOOD" for each in results])]
    lines = [f"{title:32}" + "".join(f"{cell:>24}" for cell in cells) for title, cells in table]
    return "\n".join([*lines, *(line for each in results for line in _wrong(each))])


def _compared(result: Result) -> str:
    by = result.compared
    return f"{by.get('by_segments', 0)} files, {by.get('by_batches', 0)} batches"


def _wrong(result: Result) -> list[str]:
    lines = [*result.differences[:MOST], *result.told[:MOST], *result.failures]
    lines += [f"clients: {each}" for each in result.of_clients[:MOST]]
    if result.hanging:
        lines.append(f"never ended: {result.hanging}")
    lines += [f"logged: {each}" for each in result.complaints[:MOST]]
    lines += [f"left out: {each}" for each in result.left_out]
    return [f"{result.brokers}: {line}" for line in lines]
