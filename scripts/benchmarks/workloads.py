"""The workloads on a running, warmed-up broker: each takes a peer and returns figures by key.

Loads are bounded by time and, where they fill the disk, by bytes; every workload makes its
topics and deletes them. CPU is the broker's own, per request or per 10^9 bytes of batches.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import generator
import java_tools
import librdkafka
import raw
from peers import DELETE_DELAY_SECONDS, Peer

GIGABYTE = 1e9
BATCHES = {
    "16k": {"records": 16, "size": 1000, "connections": 4, "depth": 4},
    "900k": {"records": 900, "size": 990, "connections": 2, "depth": 4},
}
COMPACTED = {
    "cleanup_policy": "compact",
    "min_cleanable_dirty_ratio": "0.01",
    "segment_bytes": "16777216",
}
ANY_TOPIC = "t"  # the bare floor looks at no name, but knows how long it is
FIRST_TIMESTAMP_MS = 1_700_000_000_000
_topics = count()


@dataclass(frozen=True)
class Settings:
    """How long and how much: seconds per load, the size of logs, how many partitions."""

    seconds: float = 3
    warm_seconds: float = 20
    log_gigabytes: float = 1
    partitions: int = 5000
    fresh_groups: int = 10


Workload = Callable[[Peer, Settings], dict[str, float]]


@contextmanager
def topic(peer: Peer, partitions: int = 1, **configs: str) -> Iterator[str]:
    """A topic that is deleted afterwards; returns when its files have gone too."""
    if not peer.is_broker:
        yield ANY_TOPIC
        return
    name = f"bench-{next(_topics)}"
    raw.create_topics(peer.address, {name: partitions}, **configs)
    yield name
    raw.delete_topic(peer.address, name)
    time.sleep(DELETE_DELAY_SECONDS + 0.2)


def measured(
    peer: Peer, mode: str, topic_name: str, **options: float | bool
) -> tuple[Mapping[str, float], float]:
    """Runs the load generator; its report and the CPU seconds the broker spent meanwhile."""
    before = peer.cpu_seconds()
    report = generator.run(mode, peer.address, topic_name, **options)
    return report, peer.cpu_seconds() - before


def warm_up(peer: Peer, settings: Settings) -> None:
    """Lets a JIT compile the hot paths, and any broker open what it opens lazily."""
    if not peer.is_broker:
        return
    quarter = settings.warm_seconds / 4
    address = peer.address
    many = {"partitions": 4, "seconds": quarter, "bytes": 2_000_000_000}
    with topic(peer, 4) as name:
        generator.run("produce", address, name, connections=16, **many)
        generator.run("produce", address, name, **many, **BATCHES["16k"])
        generator.run("produce", address, name, idempotent=True, **many, **BATCHES["900k"])
        generator.run("fetch", address, name, connections=4, partitions=4, seconds=quarter)
        generator.run("group", address, name, seconds=0.5)


def unbatched_produce(peer: Peer, settings: Settings) -> dict[str, float]:
    """One record of 100 B per request, the next sent when the answer has come."""
    figures = {}
    for connections in (1, 16):
        with topic(peer, connections) as name:
            report, cpu = measured(
                peer,
                "produce",
                name,
                seconds=settings.seconds,
                connections=connections,
                partitions=connections,
            )
        figures[f"unbatched_{connections}_cpu_us"] = cpu / report["requests"] * 1e6
        figures[f"unbatched_{connections}_rate"] = report["requests_per_second"]
    return figures


def batched_produce(peer: Peer, settings: Settings) -> dict[str, float]:
    """Batches of 16 KB and 900 KB, four requests in flight per connection."""
    figures = {}
    for size, options in BATCHES.items():
        for idempotent in (False, True) if peer.is_broker else (False,):
            with topic(peer, 4) as name:
                report, cpu = measured(
                    peer,
                    "produce",
                    name,
                    seconds=settings.seconds,
                    bytes=2_000_000_000,
                    partitions=4,
                    idempotent=idempotent,
                    **options,
                )
            kind = f"in_{size}_idempotent" if idempotent else f"in_{size}"
            figures[f"{kind}_cpu_s"] = cpu / report["bytes"] * GIGABYTE
            figures[f"{kind}_rate"] = report["megabytes_per_second"]
    return figures


def consume(peer: Peer, settings: Settings) -> dict[str, float]:
    """Fetches of 1 MB by two connections over 400 MB, again and again from the page cache."""
    with topic(peer, 4) as name:
        fill(peer, name, 400_000_000, partitions=4)
        report, cpu = measured(
            peer, "fetch", name, seconds=settings.seconds, connections=2, partitions=4
        )
    return {
        "out_cpu_s": cpu / report["bytes"] * GIGABYTE,
        "out_rate": report["megabytes_per_second"],
    }


def fill(peer: Peer, topic_name: str, size_bytes: int, partitions: int) -> None:
    """Writes batches of 900 KB, spread over the partitions, in little time."""
    generator.run(
        "produce",
        peer.address,
        topic_name,
        bytes=size_bytes,
        seconds=600,
        partitions=partitions,
        **BATCHES["900k"] | {"connections": partitions},
    )


def stock_client(peer: Peer, settings: Settings) -> dict[str, float]:
    """librdkafka with its defaults and acks=all: what it writes is then read."""
    figures = {}
    for value_bytes in (100, 1000, 10_000):
        with topic(peer, librdkafka.PARTITIONS) as name:
            sent, took = librdkafka.produce(peer.address, name, value_bytes, settings.seconds)
            read = librdkafka.consume(peer.address, name, sent)
        scale = value_bytes / 1e6 if value_bytes == 10_000 else 1e-3  # MB/s, else thousands
        figures[f"rdkafka_produce_{value_bytes}"] = sent / took * scale
        figures[f"rdkafka_consume_{value_bytes}"] = sent / read * scale
    return figures


def perf_tools(peer: Peer, settings: Settings) -> dict[str, float]:
    """Apache's own perf-test tools with 1 KB records, as many as take a few seconds."""
    records = int(100_000 * settings.seconds)
    with topic(peer, 4) as name:
        return {
            "java_produce": java_tools.produce(peer.address, name, records, 1000),
            "java_consume": java_tools.consume(peer.address, name, records),
        }


def end_to_end(peer: Peer, settings: Settings) -> dict[str, float]:
    """A record sent while a Fetch is parked, until that Fetch has brought it."""
    with topic(peer) as name:
        generator.run("end-to-end", peer.address, name, seconds=0.5)
        report = generator.run("end-to-end", peer.address, name, seconds=settings.seconds)
    return {"end_to_end_p50_ms": report["p50_ms"], "end_to_end_p99_ms": report["p99_ms"]}


def compaction(peer: Peer, settings: Settings) -> dict[str, float]:
    """End to end on one topic, idle and while a log of 600 MB without any duplicate is cleaned.

    The broker's CPU tells whether the cleaning really went on: it is near zero when idle.
    """
    options = {"seconds": settings.seconds}
    with topic(peer) as name:
        generator.run("end-to-end", peer.address, name, seconds=0.5)
        idle = generator.run("end-to-end", peer.address, name, **options)
        with topic(peer, 1, **COMPACTED) as compacted:
            generator.run(
                "produce",
                peer.address,
                compacted,
                **BATCHES["900k"] | {"connections": 1, "keys": True, "bytes": 600_000_000},
                seconds=600,
            )
            report, cpu = measured(peer, "end-to-end", name, **options)
    return {
        "compacting_p99_ms": report["p99_ms"],
        "compacting_ratio": report["p99_ms"] / idle["p99_ms"],
        "compacting_cpu_share": cpu / report["seconds"],
    }


def look_up(peer: Peer, settings: Settings) -> dict[str, float]:
    """Random offsets and times in a partition of 16 KB batches that are 10 ms apart."""
    with topic(peer) as name:
        options = {**BATCHES["16k"], "connections": 1, "step": 10}
        written = generator.run(
            "produce", peer.address, name, bytes=200_000_000, seconds=600, **options
        )
        span_ms = int(written["requests"] - 1) * 10
        quick = {"seconds": settings.seconds / 2}
        seek = generator.run("seek", peer.address, name, max_bytes=65536, **quick)
        by_time = generator.run("list-offsets", peer.address, name, span=span_ms, **quick)
        return {
            "raw_seek_p50_ms": seek["p50_ms"],
            "raw_by_time_p50_ms": by_time["p50_ms"],
            "seek_p50_ms": librdkafka.seek_p50_ms(
                peer.address, name, int(written["records"]), **quick
            ),
            "by_time_p50_ms": librdkafka.by_time_p50_ms(
                peer.address, name, FIRST_TIMESTAMP_MS, span_ms, **quick
            ),
        }


def fresh_group(peer: Peer, settings: Settings) -> dict[str, float]:
    """From a new consumer of a new group to its first record."""
    with topic(peer) as name:
        generator.run("produce", peer.address, name, bytes=1, seconds=60)
        report = generator.run("group", peer.address, name, seconds=settings.seconds / 2)
        return {
            "raw_fresh_group_ms": report["p50_ms"],
            "fresh_group_ms": librdkafka.fresh_group_ms(peer.address, name, settings.fresh_groups),
        }


def idempotence(peer: Peer, settings: Settings) -> dict[str, float]:
    """16 KB batches with and without producer ids, in short turns: what idempotence costs.

    Both are stamped, so that the generator's work is the same.
    """
    rates: dict[bool, float] = {False: 0, True: 0}
    cpus: dict[bool, float] = {False: 0, True: 0}
    load = {**BATCHES["16k"], "partitions": 4, "step": 1, "bytes": 500_000_000}
    for turn in IDEMPOTENCE_TURNS:
        with topic(peer, 4) as name:
            seconds = settings.seconds / 3
            report, cpu = measured(peer, "produce", name, idempotent=turn, seconds=seconds, **load)
        rates[turn] += report["records"] / report["seconds"] / 1000
        cpus[turn] += cpu / report["records"]
    each = len(IDEMPOTENCE_TURNS) / 2
    return {
        "plain_rate": rates[False] / each,
        "idempotent_rate": rates[True] / each,
        "idempotent_rate_share": rates[True] / rates[False] * 100,
        "idempotent_cpu_share": cpus[False] / cpus[True] * 100,
    }


IDEMPOTENCE_TURNS = (False, True, True, False, False, True, True, False)


def transactions(peer: Peer, settings: Settings) -> dict[str, float]:
    """100 records of 100 B in one Produce to 4 partitions, from begin to commit answered.

    One producer, one transaction after the other, and then with 10 ms between them; TV1 adds its
    partitions first, TV2 only writes.
    """
    figures = {}
    load = {"partitions": 4, "records": 100}
    for version in (1, 2):
        with topic(peer, 4) as name:
            generator.run("transactions", peer.address, name, version=version, seconds=1, **load)
            options = {"version": version, "seconds": settings.seconds, **load}
            report, cpu = measured(peer, "transactions", name, **options)
            paced = generator.run("transactions", peer.address, name, pause=10, **options)
        figures[f"txn_{version}_p50_ms"] = report["p50_ms"]
        figures[f"txn_{version}_p99_ms"] = report["p99_ms"]
        figures[f"txn_{version}_cpu_us"] = cpu / report["requests"] * 1e6
        figures[f"txn_paced_{version}_p50_ms"] = paced["p50_ms"]
    return figures


STEADY: dict[str, Workload] = {
    "unbatched": unbatched_produce,
    "batched": batched_produce,
    "consume": consume,
    "librdkafka": stock_client,
    "java": perf_tools,
    "latency": end_to_end,
    "compaction": compaction,
    "look-up": look_up,
    "group": fresh_group,
    "idempotence": idempotence,
    "transactions": transactions,
}

# What the bare floor can be measured with, too.
FLOOR = ("unbatched", "batched")
