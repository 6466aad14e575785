"""How long a cluster is away when a broker goes: beside Apache Kafka 3.9.1 in the same run.

    scripts/bench failover [--rounds 3] [--partitions 1000] [--gigabytes 2] [--peer NAME]

Three brokers with a ZooKeeper each time, three replicas, min.insync.replicas=2, sessions of six
seconds. Medians of the rounds; docs/performance.md says what each line is.
"""

import argparse
import json
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import generator
from trio import KINDS, PATIENCE_S, SESSION_S, Prober, TimedOut, Trio, running_trio

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record

OUT = Path(__file__).parents[2] / "build" / "bench" / "failover.json"
SETTLE_S = 2.0
STOP_BEFORE_S, STOP_AFTER_S = 1.0, 3.0
PER_TOPIC = 100
RECORD_BYTES = 1_000
Figures = dict[str, float]

LINES = [
    ("leader_killed_s", "leader killed -> next acknowledged produce", "s", SESSION_S + 0.7),
    ("clean_stop_s", "clean stop -> longest pause", "s", 0.3),
    ("clean_stop_failed", "clean stop -> requests that failed", "", None),
    ("controller_killed_s", "controller killed -> first CreateTopics", "s", SESSION_S + 1),
    ("create_s", "many partitions x 3 created and led", "s", 3.0),
    ("create_cpu_s", "the same, CPU of all three", "s", None),
    ("led_again_s", "all led again after the dead broker's session", "s", 0.5),
    ("in_sync_s", "all in sync after its start", "s", 4.0),
    ("in_sync_cpu_s", "the same, CPU of all three", "s", None),
    ("wiped_mb_s", "wiped replica back in sync", "MB/s", None),
    ("wiped_cpu_s", "the same, CPU of all three", "s/GB", None),
]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench failover")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--peer", choices=KINDS, action="append")
    options = parser.parse_args(arguments)
    found: dict[str, Figures] = {}
    for kind in options.peer or KINDS:
        found[kind] = _measure(kind, options)
        print(f"{kind}: {json.dumps(found[kind])}", file=sys.stderr)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1))
    _print(found)
    return 0


def _print(found: dict[str, Figures]) -> None:
    print(f"{'':48}" + "".join(f"{kind:>12}" for kind in found) + f"{'ratio':>9}{'aim':>9}")
    for key, label, unit, aim in LINES:
        values = [found[kind].get(key) for kind in found]
        cells = "".join(f"{'-' if value is None else f'{value:.2f}':>12}" for value in values)
        ratio = ""
        if len(values) == 2 and values[0] and values[1]:
            ratio = f"{values[0] / values[1]:.2f}"
        print(f"{f'{label} ({unit})' if unit else label:48}{cells}{ratio:>9}{aim or '':>9}")


def _measure(kind: str, options: argparse.Namespace) -> Figures:
    figures: Figures = {}
    parts: list[Callable[[str, argparse.Namespace], Figures]] = [_small, _many, _wiped]
    for part in parts:
        try:
            figures |= part(kind, options)
        except TimedOut as late:
            print(f"{kind}: {part.__name__.strip('_')} never ended: {late}", file=sys.stderr)
    return figures


# --- one partition -------------------------------------------------------------------------


def _small(kind: str, options: argparse.Namespace) -> Figures:
    """Kills and clean stops of the leader, and kills of the controller, in turn."""
    taken: dict[str, list[float]] = {}
    with running_trio(kind) as trio:
        topics = {"one": 1}
        trio.create({"one": [[1, 2, 3]]})
        trio.wait_until_in_sync(topics)
        prober = Prober(trio, "one", _batch())
        for _ in range(20):
            prober.append()
        for number in range(options.rounds):
            for work in (_kill_leader, _stop_leader):
                for key, value in work(trio, prober).items():
                    taken.setdefault(key, []).append(value)
                _all_back(trio, topics)
            taken.setdefault("controller_killed_s", []).append(_kill_controller(trio, number))
            _all_back(trio, topics)
    return {key: statistics.median(values) for key, values in taken.items()}


def _batch() -> bytes:
    return bytes(build_batch([Record(0, 1_700_000_000_000, None, b"x" * 100)]))


def _all_back(trio: Trio, topics: dict[str, int]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    for node in trio.nodes.values():
        if not node.is_wanted:
            node.kill()
            node.start()
    trio.wait_until_in_sync(topics)
    while (answer := trio.ask()) is None or answer.controller not in trio.nodes:
        if time.monotonic() > deadline:
            raise TimedOut("a controller")
        time.sleep(0.05)
    time.sleep(SETTLE_S)


def _leader(trio: Trio) -> int:
    answer = trio.ask("one")
    if answer is None:
        raise TimedOut("metadata")
    return answer.partitions["one", 0].leader


def _kill_leader(trio: Trio, prober: Prober) -> Figures:
    prober.append()
    leader = _leader(trio)
    began_at = time.monotonic()
    trio.nodes[leader].kill()
    prober.append()
    return {"leader_killed_s": time.monotonic() - began_at}


def _stop_leader(trio: Trio, prober: Prober) -> Figures:
    """One record after the other while the leader stops: the longest from one to the next."""
    prober.append()
    node = trio.nodes[_leader(trio)]
    failed_before = prober.failed
    stopping = threading.Timer(STOP_BEFORE_S, node.stop)
    stopping.start()
    longest, last, began_at = 0.0, time.monotonic(), time.monotonic()
    while stopping.is_alive() or time.monotonic() < began_at + STOP_BEFORE_S + STOP_AFTER_S:
        prober.append()
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    stopping.join()
    return {"clean_stop_s": longest, "clean_stop_failed": prober.failed - failed_before}


def _kill_controller(trio: Trio, number: int) -> float:
    answer = trio.ask()
    if answer is None or answer.controller not in trio.nodes:
        raise TimedOut("a controller")
    others = [broker for broker in trio.nodes if broker != answer.controller]
    began_at = time.monotonic()
    trio.nodes[answer.controller].kill()
    trio.create({f"after-{number}": [others]})
    return time.monotonic() - began_at


# --- many partitions -----------------------------------------------------------------------


def _many(kind: str, options: argparse.Namespace) -> Figures:
    """Created, led again after a kill, in sync again after the return."""
    topics = {f"wide-{n}": PER_TOPIC for n in range(options.partitions // PER_TOPIC)}
    placed = [[n % 3 + 1, (n + 1) % 3 + 1, (n + 2) % 3 + 1] for n in range(PER_TOPIC)]
    with running_trio(kind) as trio:
        time.sleep(SETTLE_S)
        before, began_at = trio.cpu_seconds(), time.monotonic()
        trio.create(dict.fromkeys(topics, placed))
        trio.wait_for(topics, lambda led: led.leader > 0)
        created_s = time.monotonic() - began_at
        trio.wait_until_in_sync(topics)
        create_cpu_s = trio.cpu_seconds() - before
        time.sleep(SETTLE_S)
        dead = 1 if trio.ask().controller != 1 else 2  # type: ignore[union-attr]
        trio.nodes[dead].kill()
        session_ended = _session_end(trio, dead)
        trio.wait_for(topics, lambda led: led.leader not in (-1, dead))
        led_again_s = time.monotonic() - session_ended()
        before, began_at = trio.cpu_seconds(), time.monotonic()
        trio.nodes[dead].start()
        trio.wait_until_in_sync(topics)
        in_sync_s = time.monotonic() - began_at
        in_sync_cpu_s = trio.cpu_seconds() - before
    return {
        "create_s": created_s,
        "create_cpu_s": create_cpu_s,
        "led_again_s": led_again_s,
        "in_sync_s": in_sync_s,
        "in_sync_cpu_s": in_sync_cpu_s,
    }


def _session_end(trio: Trio, broker: int) -> Callable[[], float]:
    """Notices when the broker's znode goes; call it to hear when that was."""
    from kazoo.client import KazooClient

    ended = threading.Event()
    at: list[float] = []
    client = KazooClient(trio.cluster.zookeeper.address)
    client.start()

    def gone(_: object) -> None:
        at.append(time.monotonic())
        ended.set()

    if client.exists(f"/nl/brokers/ids/{broker}", watch=gone) is None:
        gone(None)

    def hear() -> float:
        if not ended.wait(PATIENCE_S):
            raise TimedOut("the end of a session")
        client.stop()
        client.close()
        return at[0]

    return hear


# --- a wiped replica -----------------------------------------------------------------------


def _wiped(kind: str, options: argparse.Namespace) -> Figures:
    """A broker comes back with an empty data directory, and copies what it had."""
    if not options.gigabytes:
        return {}
    topics = {"large": 1}
    size_bytes = int(options.gigabytes * 1e9)
    with running_trio(kind) as trio:
        trio.create({"large": [[1, 2, 3]]})
        trio.wait_until_in_sync(topics)
        generator.run(
            "produce", trio.nodes[1].address, "large", bytes=size_bytes, seconds=600,
            records=900, size=990, depth=4,
        )  # fmt: skip
        trio.wait_until_in_sync(topics)
        trio.nodes[3].stop()
        trio.wait_for(topics, lambda led: 3 not in led.isr)
        shutil.rmtree(trio.nodes[3].data)
        before, began_at = trio.cpu_seconds(), time.monotonic()
        trio.nodes[3].start()
        trio.wait_for(topics, lambda led: 3 in led.isr)
        took, used = time.monotonic() - began_at, trio.cpu_seconds() - before
    gigabytes = size_bytes / 1e9
    return {"wiped_mb_s": gigabytes * 1e3 / took, "wiped_cpu_s": used / gigabytes}
