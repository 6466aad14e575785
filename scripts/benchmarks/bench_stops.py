"""How long the worst that can be asked keeps the broker's loop from everybody else.

    scripts/bench stops [--elements 50000] [--partitions 5000] [API ...]

Every array of every request, filled to the bound, and some that are large in other ways; beside
each the longest pass of the loop, in milliseconds of the processor's time of the broker's thread,
and how long the answer took. The broker runs in this process, with nobody looking at its requests.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

sys.path.append(str(Path(__file__).resolve().parents[2]))  # behind the compiled package

from barnabas.server.handlers import HANDLERS
from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.records import Record
from barnabas.wire.compiler import MAX_ELEMENTS_IN_STEPS
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.schema import Message
from tests.server.large_requests import large_requests
from tests.server.loop_probe import LoopProbe
from tests.server.raw_client import RawClient
from tests.server.records import NOW_MS, make_batch

TIMEOUT_S = 120.0
SETTINGS = {
    "auto.create.topics.enable": "false",
    "barnabas.http.port": "0",
    "produce.validation": "fast",  # as a broker in a process of its own has it
}
Case = tuple[str, Message, int]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench stops")
    parser.add_argument("--elements", type=int, default=MAX_ELEMENTS_IN_STEPS - 100)
    parser.add_argument("--partitions", type=int, default=5_000)
    parser.add_argument("apis", nargs="*", metavar="API")
    options = parser.parse_args(arguments)
    with Broker(SETTINGS) as broker, LoopProbe(broker) as probe:
        broker.call(lambda: setattr(broker.server.dispatcher, "observer", None))
        print(f"{'request':58} {'frame KB':>9} {'longest stop ms':>16} {'answer s':>9}")
        for name, request, version in _cases(options):
            _measure(broker, probe, name, request, version)
        if not options.apis:
            port = broker.server.http.port if broker.server.http else -1
            url = f"http://127.0.0.1:{port}/metrics"
            _row("GET /metrics", 0, *_timed(probe, lambda: urlopen(url, timeout=TIMEOUT_S).read()))
    return 0


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    wide = [CreatableTopic(name="wide", num_partitions=options.partitions, replication_factor=1)]
    yield "CREATE_TOPICS of the partitions", CreateTopicsRequest(topics=wide, timeout_ms=60_000), 5
    for api in HANDLERS:
        if not options.apis or api.name in options.apis:
            for large in large_requests(api, options.elements):
                yield str(large), large.request, large.version
    if not options.apis:
        yield from _special(options.partitions)
        yield from _codecs()


def _special(partitions: int) -> Iterator[Case]:
    """Large by what stands behind them: partitions that exist, records, a session."""
    every = range(partitions)
    yield "METADATA v9 of all, for the first time", MetadataRequest(topics=None), 9
    yield "METADATA v9 of all, again", MetadataRequest(topics=None), 9
    data = [PartitionProduceData(index=n, records=bytes(make_batch(b"v" * 100))) for n in every]
    yield "PRODUCE v9 to all partitions", _produce(data), 9
    large = bytes(make_batch(*[b"v"] * 100_000))
    data = [PartitionProduceData(index=n, records=large) for n in range(56)]
    yield "PRODUCE v9 of 56 batches of 800 KB", _produce(data), 9
    wanted = [FetchPartition(partition=n, partition_max_bytes=1 << 20) for n in every]
    fetch = FetchTopic(topic="wide", partitions=wanted)
    yield "FETCH v11 of all, with a session", _fetch(fetch, session_epoch=0), 11
    for version in (1, 3):
        many = [FetchPartition(partition=n, partition_max_bytes=1 << 26) for n in range(56)]
        topic = FetchTopic(topic="wide", partitions=many)
        yield f"FETCH v{version} of 45 MB of small records", _fetch(topic), version
    times = [ListOffsetsPartition(partition_index=n, timestamp=1) for n in every]
    topics = [ListOffsetsTopic(name="wide", partitions=times)]
    yield "LIST_OFFSETS v5 by time, of all", ListOffsetsRequest(replica_id=-1, topics=topics), 5


def _codecs() -> Iterator[Case]:
    """What one call of a codec works on for long, and a search in one batch."""
    settings = {"compression.type": "zstd", "compression.zstd.level": "19"}
    configs = [CreatableTopicConfig(name=name, value=value) for name, value in settings.items()]
    topics = [
        CreatableTopic(name="zstd", num_partitions=1, replication_factor=1, configs=configs),
        CreatableTopic(name="plain", num_partitions=1, replication_factor=1),
    ]
    yield "CREATE_TOPICS of two", CreateTopicsRequest(topics=topics, timeout_ms=60_000), 5
    lines = b"".join(b"%d bottles of beer, " % (n * n % 9973) for n in range(50_000))
    data = [PartitionProduceData(index=0, records=bytes(make_batch(lines[:1_000_000])))]
    yield "PRODUCE v9 of 1 MB that becomes zstd of level 19", _produce(data, "zstd"), 9
    bomb = build_batch([Record(0, NOW_MS, b"k", bytes(250_000_000))], codec=Codec.GZIP)
    data = [PartitionProduceData(index=0, records=bytes(bomb))]
    yield "PRODUCE v9 of 250 KB that hold 250 MB, becomes zstd", _produce(data, "zstd"), 9
    many = [Record(n, NOW_MS + (n == 95_000), b"", b"") for n in range(95_001)]
    data = [PartitionProduceData(index=0, records=bytes(build_batch(many)))]
    yield "PRODUCE v9 of 95,000 records", _produce(data, "plain"), 9
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=NOW_MS + 1)]
    looked_for = [ListOffsetsTopic(name="plain", partitions=wanted)]
    yield "LIST_OFFSETS v5 by time in them", ListOffsetsRequest(replica_id=-1, topics=looked_for), 5


def _produce(data: list[PartitionProduceData], name: str = "wide") -> ProduceRequest:
    topics = [TopicProduceData(name=name, partitions=data)]
    return ProduceRequest(acks=-1, timeout_ms=60_000, topics=topics)


def _fetch(topic: FetchTopic, session_epoch: int = -1) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=1 << 26, session_epoch=session_epoch, topics=[topic]
    )


def _measure(broker: Broker, probe: LoopProbe, name: str, request: Message, version: int) -> None:
    with RawClient(broker.port, timeout_s=TIMEOUT_S) as client:
        data = client.wire.send(request, version)

        def ask() -> None:
            client.sock.sendall(data)
            left = int.from_bytes(_exactly(client, 4), "big")
            while left:
                left -= len(client.sock.recv(min(left, 1 << 20)) or _gone())

        _row(name, len(data), *_timed(probe, ask))


def _timed(probe: LoopProbe, work: Callable[[], Any]) -> tuple[float, float]:
    gc.collect()
    gc.freeze()  # as a broker in a process of its own does with what it has loaded
    probe.take_ms()
    begun_s = time.perf_counter()
    work()
    return probe.take_ms(), time.perf_counter() - begun_s


def _row(name: str, size_bytes: int, stop_ms: float, took_s: float) -> None:
    print(f"{name:58} {size_bytes / 1000:9.0f} {stop_ms:16.1f} {took_s:9.2f}", flush=True)


def _exactly(client: RawClient, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += client.sock.recv(count - len(data)) or _gone()
    return data


def _gone() -> bytes:
    raise ConnectionError("the broker closed the connection")
