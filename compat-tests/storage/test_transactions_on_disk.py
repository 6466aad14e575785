"""What transactions leave on disk: Apache Kafka reads ours, and we read Apache Kafka's.

Issue 14, items 2 and 5. One run of Barnabas, stopped with a transaction open, is looked at by
both releases' kafka-dump-log and goes on in both releases' brokers; the golden directories that
Kafka left go on in a Barnabas. Java consumers of both isolation levels say what they see.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tarfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from broker_admin import BrokerAdmin
from clients import ClientPool
from confluent_kafka import KafkaException
from dump_tool import dump
from families import JAVA_NEWEST, LIBRDKAFKA
from kafka_server import ApacheKafka
from own_broker import OwnBroker
from records import comparable, series
from transactions_run import (
    GROUP,
    ISOLATIONS,
    PARTITIONS,
    PATIENCE_SECONDS,
    TOPIC,
    OurRun,
    end_records,
    read_all,
)
from transactors import transactor

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.disk.fs import REAL

RELEASES = ("3.9.1", "4.4.0")
GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden" / "logs"
FIRST = "first"
INTERNAL = ("__transaction_state", "__consumer_offsets")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> OurRun:
    return OurRun(tmp_path_factory.mktemp("ours"))


def test_java_sees_what_was_committed(ours: OurRun) -> None:
    prefixes = [f"{family}{number}-kept" for family in ("new", "old") for number in range(3)]
    for partition, count in ((0, 3), (1, 1)):
        expected = [record for prefix in prefixes for record in series(prefix, count)]
        seen = ours.seen[TOPIC, partition, "read_committed"]
        assert [comparable(event) for event in seen] == expected


# --- the dump tool ------------------------------------------------------------------------


@pytest.fixture(scope="module", params=RELEASES)
def dumped(request: pytest.FixtureRequest, ours: OurRun) -> Callable[..., list[str]]:
    """What a release's tool prints of a partition's files of a kind, without complaints."""

    def lines(partition: str, pattern: str, *options: str) -> list[str]:
        files = sorted((ours.data / partition).glob(pattern))
        found = dump(f"jars-{request.param}", files, *options)
        assert found.complaints == []
        return [line for each in found.files.values() for line in each]

    return lines


STATES = ["Empty", *["Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"] * 3]
ABORTED = ["Empty", *["Ongoing", "Ongoing", "PrepareAbort", "CompleteAbort"] * 3]
COPIES = ["Empty", *["Ongoing", "Ongoing", "PrepareAbort", "CompleteAbort"]]
COPIES += ["Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"] * 2


def test_the_dump_tool_decodes_our_transaction_log(dumped: Callable[..., list[str]]) -> None:
    lines = dumped("__transaction_state-0", "*.log", "--transaction-log-decoder")
    states: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        found = re.search(r'transactionalId(?:=|":")([\w-]+).*(?:state=|Status":")(\w+)', line)
        if found:
            states[found[1]].append(found[2])
    assert states == {
        "new-1": STATES,
        "new-2": ABORTED,
        "old-1": STATES,
        "old-2": ABORTED,
        "copier": COPIES,
        "open": ["Empty", "Ongoing"],
    }
    assert any('clientTransactionVersion":2' in line or "state=" in line for line in lines)


def test_the_dump_tool_decodes_our_offsets_of_transactions(
    dumped: Callable[..., list[str]], ours: OurRun
) -> None:
    lines = dumped("__consumer_offsets-0", "*.log", "--offsets-decoder")
    markers, open_offsets, last = [], dict[tuple[str, int], int](), dict[tuple[str, int], int]()
    for line in lines:
        if "endTxnMarker: " in line:
            markers.append(line.partition("endTxnMarker: ")[2].split()[0])
            last |= open_offsets if markers[-1] == "COMMIT" else {}
            open_offsets.clear()
        elif found := re.search(rf'"topic":"{TOPIC}","partition":(\d+).*"offset":(\d+)', line):
            open_offsets[TOPIC, int(found[1])] = int(found[2])
    assert markers == ["ABORT", "COMMIT", "COMMIT"]
    assert last == ours.committed


def test_the_dump_tool_reads_our_markers_indexes_and_snapshots(
    dumped: Callable[..., list[str]], ours: OurRun
) -> None:
    for number in range(PARTITIONS[TOPIC]):
        lines = dumped(f"{TOPIC}-{number}", "*.log", "--print-data-log")
        markers = [
            line.partition("endTxnMarker: ")[2].split()[0] for line in lines if "endTxn" in line
        ]
        assert markers == ["ABORT", "COMMIT"] * 6
        aborted = dumped(f"{TOPIC}-{number}", "*.txnindex")
        assert len([line for line in aborted if "firstOffset" in line]) == 6
    snapshot = dumped(f"{TOPIC}-0", "*.snapshot")
    open_since = [line for line in snapshot if "currentTxnFirstOffset: Some" in line]
    open_since += [line for line in snapshot if "currentTxnFirstOffset: OptionalLong[" in line]
    assert len(open_since) == 1, snapshot


# --- our directory in Apache Kafka --------------------------------------------------------


class KafkaOnOurs:
    """Apache Kafka that has been given our directories for its own."""

    def __init__(self, release: str, folder: Path, ours: OurRun) -> None:
        settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}
        self._kafka = ApacheKafka(release, folder, settings)
        self.address = self._kafka.address
        try:
            self._kafka.start()
            self._make_topics()
            self._kafka.stop()
            self._put_in_place(ours)
            self._kafka.start()
        except BaseException:
            self.close()
            raise
        self.admin, self.clients = BrokerAdmin(self.address), ClientPool(self.address)

    def _make_topics(self) -> None:
        admin, clients = BrokerAdmin(self.address), ClientPool(self.address)
        for topic, count in PARTITIONS.items():
            admin.create_topic_named(topic, count)
        admin.create_topic_named(FIRST)
        clients.run(LIBRDKAFKA, "produce", topic=FIRST, partition=0, count=1)
        clients.run(
            LIBRDKAFKA, "transform", transactional_id=FIRST, topic=FIRST, to=FIRST,
            group=FIRST, count=1,
        )  # fmt: skip
        clients.close()

    def _put_in_place(self, ours: OurRun) -> None:
        wanted = {f"{topic}-{n}" for topic, count in PARTITIONS.items() for n in range(count)}
        wanted |= {f"{topic}-0" for topic in INTERNAL}
        for name in wanted:
            replace(self._kafka.data / name, ours.data / name)
        add_checkpoints(self._kafka.data, ours.data, wanted)

    def close(self) -> None:
        if hasattr(self, "clients"):
            self.clients.close()
        self._kafka.close()


def replace(theirs: Path, source: Path) -> None:
    """Put a partition's files in the place of others; the topic keeps its id."""
    topic_id = read_topic_id(REAL, str(theirs))
    assert topic_id is not None
    shutil.rmtree(theirs)
    shutil.copytree(source, theirs)
    (theirs / "partition.metadata").unlink(missing_ok=True)
    write_topic_id(REAL, str(theirs), topic_id)


def add_checkpoints(theirs: Path, source: Path, partitions: set[str]) -> None:
    """The checkpoints of these partitions are the source's."""
    for name in (checkpoints.LOG_START, checkpoints.RECOVERY_POINT, checkpoints.REPLICATION):
        offsets = checkpoints.read_offsets(REAL, str(theirs / name))
        added = checkpoints.read_offsets(REAL, str(source / name))
        kept = {place: offset for place, offset in offsets.items() if str(place) not in partitions}
        kept |= {place: offset for place, offset in added.items() if str(place) in partitions}
        checkpoints.write_offsets(REAL, str(theirs / name), kept)


@pytest.fixture(scope="module", params=RELEASES)
def kafka(
    request: pytest.FixtureRequest, ours: OurRun, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaOnOurs]:
    kafka = KafkaOnOurs(request.param, tmp_path_factory.mktemp("kafka") / "node", ours)
    yield kafka
    kafka.close()


def test_apache_kafka_goes_on_with_our_transactions(kafka: KafkaOnOurs, ours: OurRun) -> None:
    """Java sees the same records; the open transaction is aborted; ids and offsets go on.

    The id goes on in a topic of Kafka's own. In ours the markers have a coordinator epoch that is
    higher than the one of its coordinator, whose partition was never led by another, so that its
    markers would be fenced there.
    """
    wait_for(lambda: kafka.admin.last_stable_offset(TOPIC) == kafka.admin.end_offset(TOPIC))
    assert read_all(kafka.clients, ours.ends) == ours.seen
    assert kafka.admin.committed(GROUP) == ours.committed
    open_begins = ours.ends[TOPIC, 0] + 1
    assert kafka.admin.end_offset(TOPIC) == open_begins + 3  # two records and Kafka's marker
    with transactor(kafka.clients, JAVA_NEWEST, "new-1") as producer:
        producer.init()
        producer.begin()
        producer.send(FIRST, 2, "later", 0)
        producer.commit()
    wait_for(lambda: kafka.admin.last_stable_offset(FIRST) == kafka.admin.end_offset(FIRST))


def wait_for(condition: Callable[[], bool]) -> None:
    """Until it holds; a broker that has just started may not lead its partitions yet."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _holds(condition):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _holds(condition: Callable[[], bool]) -> bool:
    with contextlib.suppress(KafkaException):
        return condition()
    return False


# --- Kafka's golden directories in ours ---------------------------------------------------


def golden_versions() -> list[str]:
    return sorted(path.name for path in GOLDEN.glob("*")) if GOLDEN.is_dir() else []


class OursOnGolden:
    """A Barnabas that has been given directories of Apache Kafka for its own."""

    CASES = ("transactions", "transaction_state", "consumer_offsets")

    def __init__(self, version: str, folder: Path) -> None:
        self.manifest: dict[str, Any] = json.loads(
            (GOLDEN / version / "transactions.json").read_text()
        )
        golden = folder / "golden"
        for case in self.CASES:
            with tarfile.open(GOLDEN / version / f"{case}.tar.gz") as archive:
                archive.extractall(golden, filter="data")
        partitions = [path for path in golden.iterdir() if path.is_dir()]
        counts: dict[str, int] = defaultdict(int)
        for path in partitions:
            counts[path.name.rpartition("-")[0]] += 1
        settings = (
            f"offsets.topic.num.partitions={counts['__consumer_offsets']}",
            f"transaction.state.log.num.partitions={counts['__transaction_state']}",
        )
        self.broker = OwnBroker(folder, settings)
        self._make_topics(counts)
        self.broker.close()
        for path in partitions:
            replace(folder / "data" / path.name, path)
        self.broker.start()
        self.admin, self.clients = BrokerAdmin(self.broker.address), ClientPool(self.broker.address)

    def _make_topics(self, counts: Mapping[str, int]) -> None:
        admin, clients = BrokerAdmin(self.broker.address), ClientPool(self.broker.address)
        admin.create_topic_named("txn", counts["txn"])
        admin.create_topic_named("plain", 2)
        clients.run(LIBRDKAFKA, "produce", topic="plain", partition=0, count=1)
        clients.run(
            LIBRDKAFKA, "transform", transactional_id=FIRST, topic="plain", to="plain",
            group=FIRST, count=1,
        )  # fmt: skip
        clients.close()

    def close(self) -> None:
        self.clients.close()
        self.broker.close()


@pytest.fixture(params=golden_versions() or ["none"])
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OursOnGolden]:
    if request.param == "none":
        pytest.skip("the golden data is not beside the repository (../shared/golden)")
    golden = OursOnGolden(request.param, tmp_path)
    yield golden
    golden.close()


def test_we_go_on_with_apache_kafkas_transactions(golden: OursOnGolden) -> None:
    """Java sees what was sent, by outcome; transactional ids and committed offsets go on."""
    sent = [row for row in golden.manifest["sent"] if row["topic"] == "txn"]
    ends = {("txn", number): golden.admin.end_offset("txn", number) for number in range(2)}
    for (topic, number), end in ends.items():
        assert golden.admin.last_stable_offset(topic, number) == end
    end_records(golden.clients, ends)
    seen = read_all(golden.clients, ends)
    for (topic, number), isolation in ((place, kind) for place in ends for kind in ISOLATIONS):
        expected = [
            (row["offset"], row["timestamp"])
            for row in sent
            if row["partition"] == number
            and (isolation == ISOLATIONS[1] or row["outcome"] in ("commit", "plain"))
        ]
        found = [(each["offset"], each["timestamp"]) for each in seen[topic, number, isolation]]
        assert found == sorted(expected), (number, isolation)
    assert golden.admin.committed("g-txn") == {("plain", 0): 7}
    with transactor(golden.clients, JAVA_NEWEST, "golden-T1") as producer:
        producer.init()
        producer.begin()
        producer.send("txn", 2, "later", 0)
        producer.commit()
    assert golden.admin.last_stable_offset("txn") == ends["txn", 0] + 1 + 3
