"""The codecs against their budgets and beside kafka-python's: `scripts/bench wire`.

CPU time, minimum and median of several rounds; ours and kafka-python's take turns, so that
both see the same machine. What a fresh process pays (imports, first use) is measured in fresh
processes. The exit code is 1 if a median is over its budget or kafka-python's is less.
"""

import argparse
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from kafka.protocol.api_header import RequestHeader as TheirHeader
from kafka.protocol.consumer import FetchRequest as TheirFetchRequest
from kafka.protocol.consumer import FetchResponse as TheirFetchResponse
from kafka.protocol.metadata import MetadataResponse as TheirMetadataResponse
from kafka.protocol.producer import ProduceRequest as TheirProduceRequest
from kafka.protocol.producer import ProduceResponse as TheirProduceResponse

from barnabas.wire.connection import encode_response
from barnabas.wire.header import RequestHeader, parse_request_header, write_request_header
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.wire.schema import Message
from barnabas.wire.uuids import Uuid

TOPIC = "website-activity"
ROUND_SECONDS = 0.02
FRESH_APIS = [("PRODUCE", 9), ("FETCH", 12), ("FETCH", 18), ("METADATA", 12), ("API_VERSIONS", 4)]
FRESH_APIS += [("JOIN_GROUP", 9), ("CREATE_TOPICS", 7), ("STREAMS_GROUP_HEARTBEAT", 1)]
Work = Callable[[], object]

IMPORT = """
import asyncio, construct, time
before = time.process_time()
{imports}
print(time.process_time() - before)
"""
OUR_IMPORTS = "import barnabas.wire.connection, barnabas.wire.error_codes, barnabas.wire.redact"
THEIR_IMPORTS = "import kafka.protocol.metadata, kafka.protocol.producer, kafka.protocol.consumer"
FIRST_USE = """
import asyncio, construct, time
import barnabas.wire.connection
from barnabas.wire.api import ApiKey, request_class, response_class
data = bytes.fromhex("{data}")
before = time.process_time()
request_class(ApiKey.{name}).at({version}).parse(data)
response = response_class(ApiKey.{name})
response.at({version}).build(response())
print(time.process_time() - before)
"""
DEFAULT_REQUEST = """
from barnabas.wire.api import ApiKey, request_class
message = request_class(ApiKey.{name})
print(message.at({version}).build(message()).hex())
"""


@dataclass(frozen=True)
class Case:
    """One line of the table; times are in microseconds."""

    label: str
    budget_us: float
    ours: Work
    theirs: Work


def calls_per_round(work: Work) -> int:
    calls = 1
    while cpu_seconds(work, calls) < ROUND_SECONDS / 2:
        calls *= 2
    return calls


def cpu_seconds(work: Work, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        work()
    return time.process_time() - started


def measure(case: Case, rounds: int) -> tuple[list[float], list[float]]:
    """Microseconds a call, one figure a round: ours and kafka-python's, in turns."""
    our_calls, their_calls = calls_per_round(case.ours), calls_per_round(case.theirs)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(cpu_seconds(case.ours, our_calls) / our_calls * 1e6)
        theirs.append(cpu_seconds(case.theirs, their_calls) / their_calls * 1e6)
    return ours, theirs


def decoding(label: str, budget_us: float, request: Message, version: int, theirs: type) -> Case:
    """Decode the request by both hands, from the same bytes."""
    bound = request.at(version)
    view = memoryview(bound.build(request))
    bound.parse(view)
    decode = bound.decode
    return Case(
        label,
        budget_us,
        lambda: decode(view, 0),
        lambda: theirs.decode(view, version=version),
    )


def encoding(label: str, budget_us: float, response: Message, version: int, theirs: type) -> Case:
    """Encode the response by both hands, to the same bytes."""
    bound = response.at(version)
    data = bound.build(response)
    their_response = theirs.decode(data, version=version)
    their_response._header = None  # left unset by its decoder
    if their_response.encode(version=version) != data:
        raise SystemExit(f"{label}: kafka-python writes other bytes")
    encode = bound.encode
    return Case(
        label,
        budget_us,
        lambda: encode(response, bytearray(), []),
        lambda: their_response.encode(version=version),
    )


def header_case() -> Case:
    out = bytearray()
    write_request_header(out, RequestHeader(0, 9, 12345, "rdkafka"))
    view, data = memoryview(out), bytes(out)
    return Case(
        "request header decode",
        1.5,
        lambda: parse_request_header(view),
        lambda: TheirHeader.decode(io.BytesIO(data), flexible=True),
    )


def answer_case() -> Case:
    """A whole Produce response frame: length, header, body."""
    partition = PartitionProduceResponse(index=3, base_offset=1_000_000, log_start_offset=0)
    response = ProduceResponse(
        responses=[TopicProduceResponse(name=TOPIC, partition_responses=[partition])]
    )
    frame = bytes(encode_response(0, 9, 7, response))
    their_response = TheirProduceResponse.decode(frame[9:], version=9)
    their_response._header = None
    their_response.API_VERSION = 9

    def theirs() -> object:
        their_response.with_header(correlation_id=7)
        return their_response.encode(header=True, framed=True)

    if theirs() != frame:
        raise SystemExit("Produce response: kafka-python writes other bytes")
    return Case(
        "header + Produce v9 response encode",
        4,
        lambda: encode_response(0, 9, 7, response),
        theirs,
    )


def produce_request() -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=bytes(1000))
    topic = TopicProduceData(name=TOPIC, partitions=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topics=[topic])


def fetch_request() -> FetchRequest:
    partition = FetchPartition(partition=3, fetch_offset=1_000_000, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic=TOPIC, partitions=[partition])
    return FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=[topic])


def fetch_response() -> FetchResponse:
    partition = PartitionData(
        partition_index=3,
        high_watermark=1_000_000,
        last_stable_offset=1_000_000,
        log_start_offset=0,
    )
    return FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=[partition])])


def metadata_response() -> MetadataResponse:
    """100 topics of 10 partitions, three replicas each."""
    brokers = [MetadataResponseBroker(node_id=i, host=f"broker{i}", port=9092) for i in range(3)]
    topics = [
        MetadataResponseTopic(
            name=f"{TOPIC}-{number}",
            topic_id=Uuid(number.to_bytes(16, "big")),
            partitions=[metadata_partition(index) for index in range(10)],
        )
        for number in range(1, 101)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1, topics=topics)


def metadata_partition(index: int) -> MetadataResponsePartition:
    replicas = [(index + step) % 3 for step in range(3)]
    return MetadataResponsePartition(
        partition_index=index,
        leader_id=replicas[0],
        leader_epoch=5,
        replica_nodes=replicas,
        isr_nodes=replicas,
    )


def cases() -> list[Case]:
    return [
        decoding("Produce v9 request decode", 6, produce_request(), 9, TheirProduceRequest),
        decoding("Fetch v12 request decode", 8, fetch_request(), 12, TheirFetchRequest),
        encoding("Fetch v12 response encode", 8, fetch_response(), 12, TheirFetchResponse),
        encoding(
            "Metadata v12 response, 100 x 10, encode",
            8_000,
            metadata_response(),
            12,
            TheirMetadataResponse,
        ),
        header_case(),
        answer_case(),
    ]


# Fresh processes.


def run_fresh(program: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


def fresh_ms(program: str, rounds: int) -> list[float]:
    """Milliseconds that the program measured, once its modules' bytecode is on disk."""
    run_fresh(program)
    return [float(run_fresh(program)) * 1000 for _ in range(rounds)]


def first_use(name: str, version: int) -> str:
    data = run_fresh(DEFAULT_REQUEST.format(name=name, version=version)).strip()
    return FIRST_USE.format(name=name, version=version, data=data)


# The table.


class Table:
    """Prints figures as they come and remembers what was missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def head(self, unit: str) -> None:
        columns = ("budget", "min", "median", "theirs min", "median")
        print(f"\n{unit:42}" + "".join(f"{column:>11}" for column in columns))

    def line(
        self, label: str, budget: float, ours: list[float], theirs: list[float] | None = None
    ) -> None:
        figures = [budget, min(ours), median(ours)]
        if theirs is not None:
            figures += [min(theirs), median(theirs)]
        print(f"{label:42}" + "".join(f"{figure:11.2f}" for figure in figures), flush=True)
        if median(ours) > budget:
            self.missed.append(f"{label}: {median(ours):.2f}, budget {budget:g}")
        if theirs is not None and min(ours) > min(theirs):
            self.missed.append(f"{label}: slower than kafka-python")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench wire", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="figures for each line")
    options = parser.parse_args(arguments)
    table = Table()
    table.head("microseconds of CPU; theirs: kafka-python")
    for case in cases():
        table.line(case.label, case.budget_us, *measure(case, options.rounds))
    table.head("milliseconds of CPU in a fresh process")
    ours = fresh_ms(IMPORT.format(imports=OUR_IMPORTS), options.rounds)
    theirs = fresh_ms(IMPORT.format(imports=THEIR_IMPORTS), options.rounds)
    table.line("import, after asyncio and construct", 25, ours, theirs)
    for name, version in FRESH_APIS:
        figures = fresh_ms(first_use(name, version), options.rounds)
        table.line(f"first use of {name} v{version}, both ways", 5, figures)
    for each in table.missed:
        print(f"missed: {each}", file=sys.stderr)
    return 1 if table.missed else 0
