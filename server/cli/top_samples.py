"""What `barnabas top` looks at, and what has changed between two looks."""

import contextlib
import re
import time
import urllib.request
from http.client import HTTPException
from typing import Any, NamedTuple

from barnabas.server.cli.connection import Cluster, host_and_port, unreachable
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import EARLIEST, LATEST, Place, offsets_to_be_had
from barnabas.server.cli.output import Row
from barnabas.server.cli.sizes import Copy, copies, directories_of, largest

GROUPS_AT_ONCE = 100
SCRAPE_S = 2.0
METRIC = "kafka_server_socket_server_metrics_connection_count"
CONNECTIONS = re.compile(rf"^{METRIC}(?:\{{.*\}})? (\S+)$", re.MULTILINE)


class Sample(NamedTuple):
    """One look at a cluster."""

    at_s: float
    leaders: dict[Place, int]
    starts: dict[Place, int]
    ends: dict[Place, int]
    sizes: dict[Copy, int]
    groups: dict[str, Row]
    committed: dict[str, dict[Place, int]]
    brokers: list[dict[str, Any]]
    connections: dict[int, int | None]


class Sampler:
    """Looks at a cluster again and again."""

    def __init__(self, cluster: Cluster, metrics: tuple[str, ...], *, internal: bool) -> None:
        self._cluster, self._internal = cluster, internal
        self._metrics = metrics
        self._met: set[int] = set()
        for address in metrics:
            if host_and_port(address) is None:
                raise BadInput(f"--metrics: {address!r} is not HOST:PORT, as in 127.0.0.1:8080")

    def look(self) -> Sample:
        """How it is now; brokers that are away are left out. Raises when nobody answers."""
        try:
            return self._look()
        except unreachable():
            with contextlib.suppress(*unreachable()):
                self._cluster.find_who_answers()  # for the next look
            raise

    def _look(self) -> Sample:
        found = self._cluster.describe()
        leaders = {
            (name, each["partition_index"]): each["leader_id"]
            for name, topic in self._cluster.topics().items()
            if self._internal or not topic["is_internal"]
            for each in topic["partitions"]
        }
        led = [place for place, leader in leaders.items() if leader >= 0]
        names = {broker["node_id"] for broker in found["brokers"]}
        groups, committed = self._look_at_groups()
        return Sample(
            time.monotonic(),
            leaders,
            offsets_to_be_had(self._cluster, led, EARLIEST),
            offsets_to_be_had(self._cluster, led, LATEST),
            copies(directories_of(self._cluster, names)),
            groups,
            committed,
            sorted(found["brokers"], key=lambda broker: int(broker["node_id"])),
            self._connections(names),
        )

    def _connections(self, names: set[int]) -> dict[int, int | None]:
        """By broker: --metrics has them in the order of their ids, those that are away as well."""
        self._met |= names
        counts = map(connections_of, self._metrics)
        return dict(zip(sorted(self._met), counts, strict=False))

    def _look_at_groups(self) -> tuple[dict[str, Row], dict[str, dict[Place, int]]]:
        """All of them, for the one furthest behind may have any name."""
        from barnabas.server.cli.group_views import listed

        known = listed(self._cluster)
        names = sorted(known)
        groups: dict[str, Row] = {}
        committed: dict[str, dict[Place, int]] = {}
        for start in range(0, len(names), GROUPS_AT_ONCE):
            members, offsets = self._look_at_some(names[start : start + GROUPS_AT_ONCE])
            groups |= {name: {**known[name], "members": count} for name, count in members.items()}
            committed |= offsets
        return groups, committed

    def _look_at_some(self, names: list[str]) -> tuple[dict[str, int], dict[str, dict[Place, int]]]:
        """How many members groups have, and what they have committed; without those whose
        coordinator is away, for one of which the question about all fails.
        """
        from barnabas.server.cli.group_views import committed_of_all

        try:
            described = self._cluster.admin.describe_groups(names)
            offsets = committed_of_all(self._cluster, names)
        except unreachable():
            if len(names) == 1:
                return {}, {}
            each = [self._look_at_some([name]) for name in names]
            return (
                {name: count for members, _ in each for name, count in members.items()},
                {name: at for _, offsets in each for name, at in offsets.items()},
            )
        members = {name: len((described.get(name) or {}).get("members") or ()) for name in offsets}
        return members, offsets


def connections_of(address: str) -> int | None:
    """The connections of clients that a broker's /metrics tell; None when it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=SCRAPE_S) as answer:
            text = answer.read().decode()
    except (OSError, ValueError, HTTPException):
        return None
    # A listener without connections has no line.
    return round(sum(map(float, CONNECTIONS.findall(text)))) if METRIC in text else None


class Changes:
    """Two looks at a cluster, and what happened between them."""

    def __init__(self, before: Sample, now: Sample) -> None:
        self._before, self._now = before, now
        self._seconds = max(now.at_s - before.at_s, 0.001)

    @property
    def now(self) -> Sample:
        """The later look."""
        return self._now

    def topics(self) -> list[Row]:
        """The topics, busiest first."""
        before, now = self._before, self._now
        sizes, sizes_before = largest(now.sizes), largest(before.sizes)
        rows: dict[str, Row] = {}
        for place in now.leaders:
            row = rows.setdefault(place[0], dict.fromkeys(_TOPIC, 0) | {"topic": place[0]})
            end = now.ends.get(place)
            row["partitions"] += 1
            row["bytes"] += sizes.get(place, 0)
            row["bytes_per_s"] += self._growth(place, sizes.get(place), sizes_before)
            row["records_per_s"] += self._growth(place, end, before.ends)
            if end is not None:
                row["records"] += end - now.starts.get(place, end)
        for row in rows.values():
            for rate in ("records_per_s", "bytes_per_s"):
                row[rate] = round(row[rate] / self._seconds)
        return sorted(rows.values(), key=lambda row: (-row["records_per_s"], row["topic"]))

    def _growth(self, place: Place, now: int | None, before: dict[Place, int]) -> int:
        """How much more there is: all of what is new, nothing of what was there and not told."""
        if now is None:
            return 0
        return max(now - before.get(place, now if place in self._before.leaders else 0), 0)

    def groups(self) -> list[Row]:
        """The groups, those furthest behind first."""
        rows = []
        for name, group in self._now.groups.items():
            lag, lag_before = _lag(self._now, name), _lag(self._before, name)
            more = sum(lag[place] - lag_before[place] for place in lag.keys() & lag_before.keys())
            read = sum(
                max(offset - self._before.committed.get(name, {}).get(place, offset), 0)
                for place, offset in self._now.committed[name].items()
            )
            rows.append(
                {
                    "group": name,
                    "state": group["state"],
                    "members": group["members"],
                    "read_per_s": round(read / self._seconds),
                    "lag": sum(lag.values()),
                    "lag_per_s": round(more / self._seconds),
                }
            )
        return sorted(rows, key=lambda row: (-int(row["lag"]), str(row["group"])))

    def brokers(self) -> list[Row]:
        """The brokers; connections where their /metrics were named, in the order of their ids."""
        rows = []
        for broker in self._now.brokers:
            node_id = broker["node_id"]
            rows.append(
                {
                    "broker": node_id,
                    "host": f"{broker['host']}:{broker['port']}",
                    "leads": sum(leader == node_id for leader in self._now.leaders.values()),
                    "bytes": sum(s for (_, _, b), s in self._now.sizes.items() if b == node_id),
                    "connections": self._now.connections.get(node_id),
                }
            )
        return rows


_TOPIC = ("topic", "partitions", "records_per_s", "bytes_per_s", "records", "bytes")


def _lag(sample: Sample, group: str) -> dict[Place, int]:
    """By partition whose end was to be had."""
    return {
        place: max(sample.ends[place] - offset, 0)
        for place, offset in sample.committed.get(group, {}).items()
        if place in sample.ends
    }
