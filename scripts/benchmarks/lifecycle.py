"""The workloads that start, stop and kill brokers of their own: each takes a kind of peer."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import generator
import raw
from peers import Peer
from workloads import GIGABYTE, Settings, fill, measured

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record

Lifecycle = Callable[[type[Peer], Settings], dict[str, float]]
TOPIC_PARTITIONS = 100
TRANSACTIONAL_IDS = 1000
RECORD_TIME_MS = 1_700_000_000_000


@contextmanager
def running(kind: type[Peer]) -> Iterator[Peer]:
    """A started peer of its own, gone with its data afterwards."""
    peer = kind()
    try:
        peer.start()
        yield peer
    finally:
        peer.discard()


def start_up(kind: type[Peer], settings: Settings) -> dict[str, float]:
    """From the process's start to its first answer, then what it keeps in memory."""
    with running(kind) as peer:
        time.sleep(1)
        return {
            "start_s": peer.start_seconds,
            "start_cpu_s": peer.start_cpu_seconds,
            "idle_mb": peer.resident_megabytes(),
        }


def many_partitions(kind: type[Peer], settings: Settings) -> dict[str, float]:
    """Topics of 100 partitions in one CreateTopics until all serve; stop; start."""
    topics = {f"wide-{n}": TOPIC_PARTITIONS for n in range(settings.partitions // TOPIC_PARTITIONS)}
    with running(kind) as peer:
        started = time.perf_counter()
        raw.create_topics(peer.address, topics)
        created = time.perf_counter() - started
        peer.stop()
        started = time.perf_counter()
        peer.start()
        raw.wait_until_served(peer.address, topics)
        return {
            "partitions_create_s": created,
            "partitions_restart_s": time.perf_counter() - started,
            "partitions_mb": peer.resident_megabytes(),
        }


def written_partitions(kind: type[Peer], settings: Settings) -> dict[str, float]:
    """The same with three records in each partition: a clean stop, and a start after it."""
    topics = {f"wide-{n}": TOPIC_PARTITIONS for n in range(settings.partitions // TOPIC_PARTITIONS)}
    batch = bytes(build_batch([Record(n, RECORD_TIME_MS, None, b"record") for n in range(3)]))
    with running(kind) as peer:
        raw.create_topics(peer.address, topics)
        raw.produce_to_all(peer.address, topics, batch)
        started = time.perf_counter()
        peer.stop()
        stopped = time.perf_counter() - started
        started = time.perf_counter()
        peer.start()
        raw.wait_until_served(peer.address, topics)
        return {
            "written_stop_s": stopped,
            "written_restart_s": time.perf_counter() - started,
        }


def large_log(kind: type[Peer], settings: Settings) -> dict[str, float]:
    """One partition of some gigabytes: read twice, restarted cleanly, restarted after kill -9."""
    size_bytes = int(settings.log_gigabytes * GIGABYTE)
    with running(kind) as peer:
        raw.create_topics(peer.address, {"large": 1})
        fill(peer, "large", size_bytes, partitions=1)
        measured(peer, "fetch", "large", bytes=size_bytes, seconds=600)  # warms up
        report, cpu = measured(peer, "fetch", "large", bytes=size_bytes, seconds=600)
        peer.stop()
        clean = _seconds_to_serve(peer)
        peer.kill()
        killed = _seconds_to_serve(peer)
    return {
        "log_consume_rate": report["megabytes_per_second"],
        "log_consume_cpu_s": cpu / report["bytes"] * GIGABYTE,
        "log_restart_s": clean,
        "log_recovery_s": killed,
    }


def _seconds_to_serve(peer: Peer) -> float:
    """From the process's start until the large log is served."""
    started = time.perf_counter()
    peer.start()
    raw.wait_until_served(peer.address, {"large": 1})
    return time.perf_counter() - started


def many_transactional_ids(kind: type[Peer], settings: Settings) -> dict[str, float]:
    """A transaction of each of 1,000 ids; kill -9; until a new process describes every one."""
    work = {"ids": TRANSACTIONAL_IDS, "partitions": 4, "records": 4, "seconds": 600}
    with running(kind) as peer:
        raw.create_topics(peer.address, {"ids": 4})
        generator.run("many-ids", peer.address, "ids", **work)
        peer.kill()
        started = time.perf_counter()
        peer.start()
        answered = time.perf_counter()
        generator.run("describe-ids", peer.address, "ids", ids=TRANSACTIONAL_IDS, seconds=120)
        known = time.perf_counter()
    return {"txn_ids_restart_s": known - started, "txn_ids_load_s": known - answered}


LIFECYCLE: dict[str, Lifecycle] = {
    "start": start_up,
    "partitions": many_partitions,
    "written": written_partitions,
    "log": large_log,
    "transactional-ids": many_transactional_ids,
}
