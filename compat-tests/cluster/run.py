"""A whole run: a cluster, the load, the nemesis; then everything is healed, read and compared."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from exactly_once.final import NeverEnded

from cluster.cluster import Cluster, running_cluster
from cluster.disks import small_disk
from cluster.final import until
from cluster.nemesis import Nemesis
from cluster.registry_watch import RegistryWatch
from cluster.result import Result
from cluster.verdict import judge
from cluster.workload import Workload, create_topics

CHROOT = "/nl"
HISTORY, DATA, SUMMARY = "history", "brokers", "summary.json"


@dataclass(frozen=True)
class Plan:
    """What to do. `kinds` broker by broker; `calm` is without a nemesis.

    With `rolls` there is none either, and no time: these brokers in turn are replaced by one of
    that kind, with its id and its data; `kills` says by `kill -9`.
    """

    kinds: Sequence[str] = ("barnabas",) * 3
    seconds: float = 120.0
    seed: int = 1
    rate: float = 60.0
    calm: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    rolls: Sequence[tuple[int, str]] = ()
    kills: bool = False


def run(plan: Plan, folder: Path) -> Result:
    """Do it; histories and the brokers' data are in the folder afterwards."""
    history = folder / HISTORY
    history.mkdir(parents=True)
    result = Result("+".join(sorted(set(plan.kinds))))
    with ExitStack() as stack:
        cluster = stack.enter_context(
            running_cluster(plan.kinds, folder / DATA, dict(plan.settings), disk=small_disk)
        )
        if not all(disk.can_be_filled for disk in cluster.disks.values()):
            result.left_out.append("disks full: only root may mount a small one")
        watch = RegistryWatch(cluster.zookeeper.port, CHROOT, history / "registry.jsonl")
        stack.callback(watch.close)
        create_topics(cluster.bootstrap, len(plan.kinds))
        workload = Workload(cluster.bootstrap, history, plan.seed, plan.rate)
        stack.callback(workload.close)
        nemesis = Nemesis(plan.seed, cluster)
        try:
            if plan.rolls:
                roll(plan, cluster, workload, watch)
            else:
                _live(plan, cluster, workload, nemesis)
        except NeverEnded as hanging:
            result.failures.append(str(hanging))
        _end(cluster, workload, watch, result)
        result.strikes = dict(nemesis.counts)
        (folder / "diary.json").write_text(json.dumps(nemesis.diary, indent=0))
        for broker, disk in cluster.disks.items():
            cluster.nodes[broker].kill()
            disk.keep()
    _finish(folder, cluster, result)
    return result


def _live(plan: Plan, cluster: Cluster, workload: Workload, nemesis: Nemesis) -> None:
    """Trouble begins when every producer is at work; a busy machine takes its time."""

    look = _until_all_work(cluster, workload)
    nemesis.begin()
    began_at = time.monotonic()
    while time.monotonic() < began_at + plan.seconds:
        look()
        if not plan.calm:
            nemesis.look()
        time.sleep(0.05)
    nemesis.end_all()


def _until_all_work(cluster: Cluster, workload: Workload) -> Callable[[], None]:
    """Wait for the first acknowledgement of every producer; what is to be done all the time."""

    def look() -> None:
        workload.look()
        cluster.look()

    until(lambda: f"idle: {workload.idle()}", lambda: not workload.idle(), look)
    return look


def roll(plan: Plan, cluster: Cluster, workload: Workload, watch: RegistryWatch) -> None:
    """Replace brokers in turn, the next when all replicas are in sync."""
    look = _until_all_work(cluster, workload)

    def are_in_sync() -> bool:
        return not watch.lacking()

    for broker, kind in plan.rolls:
        node = cluster.nodes[broker]
        if plan.kills:
            node.kill()
        elif not node.stop():
            raise NeverEnded(f"broker {broker}, before it became {kind}, does not stop")
        cluster.become(broker, kind)
        cluster.nodes[broker].start()
        until(lambda: f"after broker {broker} became {kind}: {watch.lacking()[:5]}",  # noqa: B023
              are_in_sync, look)  # fmt: skip


def _end(cluster: Cluster, workload: Workload, watch: RegistryWatch, result: Result) -> None:
    """Heal, let everything be read, and stop the brokers cleanly."""
    cluster.heal()

    def settled() -> bool:
        return not watch.lacking()

    def lacking() -> str:
        return f"not in sync: {watch.lacking()[:5]}"

    try:
        result.healed_s = until(lacking, settled, cluster.look)
        result.hanging = workload.end(cluster.look)
        until(lacking, settled, cluster.look)
    except NeverEnded as hanging:
        result.hanging = str(hanging)
    for client in (*workload.clients, *workload.transactions):
        client.close()
    result.exits = {
        f"broker {node.broker_id}": node.exits for node in cluster.nodes.values() if node.exits
    }
    result.slow_stops = cluster.stop()


def _finish(folder: Path, cluster: Cluster, result: Result) -> None:
    judge(folder / HISTORY, cluster.nodes[1].data, result)
    compare([node.data for node in cluster.nodes.values()], result)
    for node in cluster.nodes.values():
        result.complaints += (f"broker {node.broker_id}: {said}" for said in node.complaints())
    (folder / SUMMARY).write_text(json.dumps(result.row(), indent=1))


def compare(directories: Sequence[Path], result: Result, *, are_whole: bool = True) -> None:
    """`barnabas log verify --compare` over what the brokers have left.

    `are_whole`: each of them has a replica of everything.
    """
    command = [sys.executable, "-m", "barnabas", "log", "verify", "--compare", "--json"]
    done = subprocess.run([*command, *map(str, directories)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        result.failures.append(f"verify --compare: {done.stderr}")
        return
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        if row["type"] == "difference":
            place = f"{row['topic']}-{row['partition']}"
            result.differences.append(f"{place} at {row['offset']}: {row['reason']}")
        elif not are_whole or row["type"] != "partition":
            continue
        elif len(row["directories"]) < len(directories):
            result.differences.append(f"{row['topic']}-{row['partition']}: a replica is missing")
    result.compared = {name: rows[-1][name] for name in ("partitions", "by_segments", "by_batches")}
    if rows[-1]["of_one_replica"] and are_whole:
        result.differences.append(f"{rows[-1]['of_one_replica']} partitions have one replica")
