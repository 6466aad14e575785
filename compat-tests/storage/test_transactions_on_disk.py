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
from typing import Any, TypeAlias

import pytest
from broker_admin import BrokerAdmin
from clients import ClientPool, Event
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from dump_tool import dump
from families import JAVA_LAST_WITH_ZOOKEEPER, JAVA_NEWEST, LIBRDKAFKA
from kafka_server import ApacheKafka
from own_broker import OwnBroker
from transactors import Transactor, transactor

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.disk.fs import REAL

RELEASES = ("3.9.1", "4.4.0")
ISOLATIONS = ("read_committed", "read_uncommitted")
PATIENCE_SECONDS = 60.0
GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden" / "logs"
INTERNAL = ("__transaction_state", "__consumer_offsets")
SETTINGS = (
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=600000",
)
TOPIC, COPY, GROUP = "written", "copied", "copiers"
PARTITIONS = {TOPIC: 2, COPY: 2}
COPIED = 6
Contents: TypeAlias = dict[tuple[str, int, str], list[Event]]


def read_all(clients: ClientPool, ends: Mapping[tuple[str, int], int]) -> Contents:
    """By topic, partition and isolation level, what a Java consumer gets before an end offset.

    The record at the end has to be there and visible: nothing can hide behind it. librdkafka
    counts what there is, so that Java need not wait for more.
    """
    found: Contents = {}
    for (topic, partition), end in ends.items():
        for isolation in ISOLATIONS:
            count = _count(clients.bootstrap, topic, partition, isolation)
            events = clients.run(
                JAVA_NEWEST, "consume", topic=topic, partition=partition, isolation=isolation,
                count=count,
            )  # fmt: skip
            assert len(events) == count
            offsets = [each["offset"] for each in events]
            assert end in offsets, (topic, partition, isolation)
            found[topic, partition, isolation] = events[: offsets.index(end)]
    return found


def _count(address: str, topic: str, partition: int, isolation: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "nobody",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    count = 0
    while (message := consumer.poll(PATIENCE_SECONDS)) is not None and message.error() is None:
        count += 1
    assert message is not None and message.error().code() == KafkaError._PARTITION_EOF
    consumer.close()
    return count


def end_records(clients: ClientPool, ends: Mapping[tuple[str, int], int]) -> None:
    """Write one record without a transaction to the end of each partition."""
    for topic, partition in ends:
        clients.run(LIBRDKAFKA, "produce", topic=topic, partition=partition, count=1, prefix="end")


class OurRun:
    """A Barnabas that has stopped, and what a Java consumer saw of it."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        broker = OwnBroker(folder, SETTINGS)
        try:
            admin, clients = BrokerAdmin(broker.address), ClientPool(broker.address)
            for topic, count in PARTITIONS.items():
                admin.create_topic_named(topic, count)
            self._write(clients)
            self.ends = {
                (topic, number): admin.end_offset(topic, number)
                for topic, count in PARTITIONS.items()
                for number in range(count)
            }
            end_records(clients, self.ends)
            self.seen = read_all(clients, self.ends)
            self.committed = admin.committed(GROUP)
            self._leave_open(clients)
            clients.close()
        finally:
            broker.close()

    def _write(self, clients: ClientPool) -> None:
        for family, prefix in ((JAVA_NEWEST, "new"), (JAVA_LAST_WITH_ZOOKEEPER, "old")):
            with (
                transactor(clients, family, f"{prefix}-1") as one,
                transactor(clients, family, f"{prefix}-2") as two,
            ):
                one.init()
                two.init()
                for number in range(3):
                    self._interleave(one, two, f"{prefix}{number}")
        clients.run(
            JAVA_NEWEST, "transform", transactional_id="copier", topic=TOPIC, to=COPY,
            group=GROUP, count=COPIED, batch=3,
        )  # fmt: skip

    def _interleave(self, one: Transactor, two: Transactor, prefix: str) -> None:
        one.begin()
        two.begin()
        one.send(TOPIC, 3, f"{prefix}-kept", 0)
        two.send(TOPIC, 2, f"{prefix}-lost", 0)
        two.send(TOPIC, 2, f"{prefix}-lost", 1)
        one.send(TOPIC, 1, f"{prefix}-kept", 1)
        two.abort()
        one.commit()

    def _leave_open(self, clients: ClientPool) -> None:
        program = clients.take(JAVA_NEWEST)
        options = {"bootstrap": clients.bootstrap, "transactional_id": "open", "timeout_ms": 1_000}
        producer = Transactor(program, options)
        producer.init()
        producer.begin()
        producer.send(TOPIC, 2, "open", 0)
        program.kill()


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> OurRun:
    return OurRun(tmp_path_factory.mktemp("ours"))


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
        admin.create_topic_named("first")
        clients.run(LIBRDKAFKA, "produce", topic="first", partition=0, count=1)
        clients.run(
            LIBRDKAFKA, "transform", transactional_id="first", topic="first", to="first",
            group="first", count=1,
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
    """Java sees the same records; the open transaction is aborted; ids and offsets go on."""
    wait_for(lambda: kafka.admin.last_stable_offset(TOPIC) == kafka.admin.end_offset(TOPIC))
    assert read_all(kafka.clients, ours.ends) == ours.seen
    assert kafka.admin.committed(GROUP) == ours.committed
    open_begins = ours.ends[TOPIC, 0] + 1
    assert kafka.admin.end_offset(TOPIC) == open_begins + 3  # two records and Kafka's marker
    with transactor(kafka.clients, JAVA_NEWEST, "new-1") as producer:
        producer.init()
        producer.begin()
        producer.send(TOPIC, 2, "later", 0)
        producer.commit()
    read = kafka.clients.run(
        JAVA_NEWEST, "consume", topic=TOPIC, partition=0, from_=open_begins, count=2,
        isolation="read_committed",
    )  # fmt: skip
    assert [each["offset"] for each in read] == [open_begins + 3, open_begins + 4]


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
            LIBRDKAFKA, "transform", transactional_id="first", topic="plain", to="plain",
            group="first", count=1,
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
