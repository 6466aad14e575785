"""The audit names every planted fault, and explains every gap that is none.

One broker, one lake and one audit: a topic for each fault, damaged after it had landed.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from broker_admin import BrokerAdmin
from broker_fixture import running_barnabas
from click.testing import CliRunner
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from small_lake import SmallLake, read_committed

from barnabas.pipeline.audit import explaining
from barnabas.pipeline.audit.auditing import audit
from barnabas.pipeline.audit.command import audit as audit_command
from barnabas.pipeline.audit.command import lineage as lineage_command
from barnabas.pipeline.audit.kinds import Kind
from barnabas.pipeline.audit.question import Question
from barnabas.pipeline.audit.raw_log import RawLog, UnreadableLog
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 60.0
HOUR_MS = 3_600_000
SETTINGS = (
    "log.retention.check.interval.ms=100",
    "log.initial.task.delay.ms=100",
    "log.cleaner.backoff.ms=50",
)
KEPT = {"retention.ms": "-1"}


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@dataclass
class Scene:
    """A broker, a lake, and what the command has said and written of all topics."""

    address: str
    data_dir: Path
    lake: SmallLake
    run: Run

    def part(self, topic: str, partition: int = 0, *, current: bool = True) -> dict[str, Any]:
        wanted = (topic, partition, current)
        (found,) = (
            each
            for each in self.run.report["partitions"]
            if (each["topic"], each["partition"], each["current"]) == wanted
        )
        return dict(found)

    def counts(self, topic: str, partition: int = 0, *, current: bool = True) -> dict[str, int]:
        kinds = self.part(topic, partition, current=current)["kinds"]
        return {each["kind"]: each["count"] for each in kinds}

    def examples(self, topic: str, kind: Kind) -> list[list[int]]:
        kinds = self.part(topic)["kinds"]
        return next(each["examples"] for each in kinds if each["kind"] == kind)

    def files(self, topic: str) -> list[str]:
        at_fault = self.run.report["files"]["at_fault"]
        return [each["what"] for each in at_fault if f"topic={topic}/" in each["path"]]


@dataclass
class Run:
    """One run of the command."""

    exit_code: int
    output: str
    report: dict[str, Any]
    html: str


def run_audit(folder: Path, address: str, lake: SmallLake, *arguments: str) -> Run:
    html, as_json = folder / "audit.html", folder / "audit.json"
    given = ["--lake", str(lake.folder), "--bootstrap", address]
    files = ["--report", str(html), "--json", str(as_json)]
    done = CliRunner().invoke(
        audit_command, [*arguments, *given, *files], standalone_mode=False, catch_exceptions=False
    )
    report = json.loads(as_json.read_text())
    return Run(done.return_value, done.output, report, html.read_text())


class Planter:
    """Makes topics, lands them and damages what came of it."""

    def __init__(self, address: str, lake: SmallLake) -> None:
        self.address, self.lake = address, lake
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self.topics = BrokerAdmin(address)

    def topic(self, name: str, count: int = 20, partitions: int = 1, **config: str) -> None:
        """A topic with records that have keys, headers, nulls and emptiness in them."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        self.topics.create_topic_named(name, partitions, KEPT | settings)
        self.send(name, count, partitions)

    def send(self, name: str, count: int, partitions: int = 1, prefix: str = "v") -> None:
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 20})
        for number in range(count):
            producer.produce(
                name,
                None if number % 7 == 3 else f"{prefix}{number}".encode(),
                None if number % 5 == 4 else f"k{number % 4}".encode(),
                partition=number % partitions,
                headers=[("h", b"x"), ("n", None)] if number % 3 == 0 else None,
            )
        assert producer.flush(PATIENCE_S) == 0

    def start_of(self, name: str) -> int:
        consumer = self.topics._consumer
        low, _ = consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=PATIENCE_S)
        return int(low)

    # --- each plants one fault, or one gap that is none -------------------------------------

    def clean(self) -> None:
        self.topic("clean", 300, partitions=3)
        self.lake.land("clean")
        self.send("clean", 30, 3)

    def never_landed(self) -> None:
        self.topic("never")
        self.topic("empty", 0)

    def gone_file(self) -> None:
        self.topic("gone")
        entry = self.lake.land("gone")
        (self.lake.folder / entry.added[0].path).unlink()

    def copied_file(self) -> None:
        self.topic("copied")
        path = self.lake.folder / self.lake.land("copied").added[0].path
        path.with_name("copy-of-it.parquet").write_bytes(path.read_bytes())

    def entry_twice(self) -> None:
        self.topic("twice")
        entry = self.lake.land("twice")
        self.lake.add_to_entry(entry, *entry.added)

    def changed_value(self) -> None:
        self.topic("changed")

        def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            rows[7]["value"] = b"V7"
            return rows

        self.lake.rewrite(self.lake.land("changed"), change)

    def empty_for_null(self) -> None:
        self.topic("nulls")

        def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            assert rows[3]["value"] is None
            rows[3]["value"] = b""
            assert rows[6]["headers"][1]["value"] is None
            rows[6]["headers"][1]["value"] = b""
            return rows

        self.lake.rewrite(self.lake.land("nulls"), change)

    def shuffled_file(self) -> None:
        self.topic("shuffled")
        self.lake.rewrite(self.lake.land("shuffled"), lambda rows: [*rows[1:], rows[0]])

    def swapped_rows(self) -> None:
        self.topic("swapped")

        def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
            rows[2], rows[10] = rows[10], rows[2]
            return rows

        self.lake.rewrite(self.lake.land("swapped"), change)

    def deleted_records(self) -> None:
        self.topic("trimmed")
        self.delete_records("trimmed", 6)
        self.lake.land("trimmed", starts={0: 6})

    def lake_larger_than_the_broker(self) -> None:
        self.topic("larger")
        self.lake.land("larger")
        self.delete_records("larger", 15)

    def delete_records(self, name: str, before: int) -> None:
        place = TopicPartition(name, 0, before)
        self.admin.delete_records([place])[place].result(PATIENCE_S)

    def moving(self) -> None:
        self.topic("moving", 20)
        producer = Producer(
            {"bootstrap.servers": self.address, "transactional.id": "moving", "log_level": 0}
        )
        producer.init_transactions(PATIENCE_S)
        self._begin(producer, "moving", 4)
        producer.commit_transaction(PATIENCE_S)
        self._begin(producer, "moving", 2)
        producer.abort_transaction(PATIENCE_S)
        self.lake.land("moving")

    def retained(self) -> None:
        self.topics.create_topic_named("retained", 1, {"retention.ms": str(HOUR_MS)})
        producer = Producer({"bootstrap.servers": self.address})
        old_ms = time.time_ns() // 1_000_000 - 2 * HOUR_MS
        for number in range(10):
            producer.produce("retained", b"%d" % number, partition=0, timestamp=old_ms)
        assert producer.flush(PATIENCE_S) == 0
        wait_until(lambda: self.start_of("retained") == 10)
        self.send("retained", 5)
        self.lake.land("retained", starts={0: 10})

    def compacted(self) -> None:
        config = {
            "cleanup_policy": "compact",
            "segment_ms": "100",
            "min_cleanable_dirty_ratio": "0.01",
        }
        self.topic("compacted", 0, **config)
        producer = Producer({"bootstrap.servers": self.address})
        for number in range(41):
            producer.produce("compacted", b"%d" % number, b"k%d" % (number % 2), partition=0)
            if number == 39:  # the last record is in a segment of its own, which is not cleaned
                assert producer.flush(PATIENCE_S) == 0
                time.sleep(0.2)
        assert producer.flush(PATIENCE_S) == 0
        wait_until(lambda: self.count_of("compacted") == 3)
        self.lake.land("compacted", starts={0: 0})

    def count_of(self, name: str) -> int:
        end = self.topics.end_offset(name)
        return len(read_committed(self.address, name, 0, 0, end))

    def transactions(self) -> None:
        self.topic("transactions", 5)
        settings = {"bootstrap.servers": self.address, "log_level": 0}
        transactional = {"transactional.id": "planter", "transaction.timeout.ms": 600_000}
        producer = Producer(settings | transactional)
        producer.init_transactions(PATIENCE_S)
        for is_committed in (True, False, True):
            self._begin(producer, "transactions", 4)
            end = producer.commit_transaction if is_committed else producer.abort_transaction
            end(PATIENCE_S)
        self.lake.land("transactions")
        self._begin(producer, "transactions", 3)
        self.open_producer = producer

    def _begin(self, producer: Producer, name: str, count: int) -> None:
        producer.begin_transaction()
        for number in range(count):
            producer.produce(name, b"t%d" % number, partition=0)
        assert producer.flush(PATIENCE_S) == 0

    def recreated(self) -> None:
        self.topic("recreated", 12)
        self.lake.land("recreated")
        self.admin.delete_topics(["recreated"])["recreated"].result(PATIENCE_S)
        wait_until(lambda: "recreated" not in self.admin.list_topics(timeout=PATIENCE_S).topics)
        self.topic("recreated", 8)

    def lost_entries(self) -> None:
        """Of three batches the entry of the first is lost, or that of the second, which the log
        start has passed since."""
        for name, lost in (("firstlost", 0), ("midlost", 1)):
            self.topic(name, 10)
            entries = [self.lake.land(name)]
            for start in (10, 20):
                self.send(name, 10)
                entries.append(self.lake.land(name, starts={0: start}))
            (self.lake.folder / entries[lost].path).unlink()
        self.delete_records("midlost", 20)

    def deleted_topic(self) -> None:
        self.topic("deleted")
        self.lake.land("deleted")
        self.admin.delete_topics(["deleted"])["deleted"].result(PATIENCE_S)

    def all(self) -> None:
        self.clean()
        self.never_landed()
        self.gone_file()
        self.copied_file()
        self.entry_twice()
        self.changed_value()
        self.empty_for_null()
        self.shuffled_file()
        self.swapped_rows()
        self.deleted_records()
        self.lake_larger_than_the_broker()
        self.retained()
        self.compacted()
        self.transactions()
        self.recreated()
        self.lost_entries()
        self.deleted_topic()


@pytest.fixture(scope="module")
def scene(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    data_dir, folder = tmp_path_factory.mktemp("audited"), tmp_path_factory.mktemp("reports")
    with running_barnabas(data_dir, *SETTINGS) as address:
        planter = Planter(address, SmallLake(tmp_path_factory.mktemp("a lake [1]"), address))
        planter.all()
        run = run_audit(folder, address, planter.lake, "--pattern", "[a-z]*")
        yield Scene(address, data_dir, planter.lake, run)


def test_what_is_whole_is_clean_and_what_is_new_is_still_to_land(scene: Scene) -> None:
    for partition in range(3):
        assert scene.counts("clean", partition) == {Kind.LANDED: 100, Kind.NOT_LANDED_YET: 10}
    assert scene.part("clean")["broker_records"] == 110
    assert scene.part("clean")["lake_rows"] == 100


def test_what_never_landed_is_no_fault(scene: Scene) -> None:
    assert scene.counts("never") == {Kind.NOT_LANDED_YET: 20}
    assert scene.counts("empty") == {}


def test_a_deleted_file_is_named_with_what_is_missing(scene: Scene) -> None:
    assert scene.counts("gone") == {Kind.MISSING: 20}
    assert scene.examples("gone", Kind.MISSING) == [[0, 19]]
    assert scene.files("gone") == ["it is gone"]


def test_a_copied_file_is_named_with_what_is_doubled(scene: Scene) -> None:
    assert scene.counts("copied") == {Kind.DOUBLED: 20}
    assert scene.files("copied") == ["no entry of the lake names it"]


def test_a_file_that_is_named_twice_is_doubled(scene: Scene) -> None:
    assert scene.counts("twice") == {Kind.DOUBLED: 20}
    assert scene.files("twice") == ["entries name it 2 times"]


def test_a_changed_value_is_found_at_its_offset(scene: Scene) -> None:
    assert scene.counts("changed") == {Kind.LANDED: 19, Kind.DIFFERING: 1}
    assert scene.examples("changed", Kind.DIFFERING) == [[7, 7]]


def test_an_empty_value_is_not_a_null(scene: Scene) -> None:
    assert scene.examples("nulls", Kind.DIFFERING) == [[3, 3], [6, 6]]


def test_rows_out_of_order_within_a_file_are_counted(scene: Scene) -> None:
    assert scene.counts("shuffled") == {Kind.LANDED: 20, Kind.OUT_OF_ORDER: 1}
    assert scene.counts("swapped") == {Kind.LANDED: 20, Kind.OUT_OF_ORDER: 2}


def test_deleted_records_are_told_from_retained_ones(scene: Scene) -> None:
    assert scene.counts("trimmed") == {Kind.DELETED: 6, Kind.LANDED: 14}
    assert scene.counts("retained") == {Kind.RETAINED: 10, Kind.LANDED: 5}


def test_a_lake_may_hold_what_the_broker_has_let_go(scene: Scene) -> None:
    assert scene.counts("larger") == {Kind.ONLY_IN_LAKE: 15, Kind.LANDED: 5}


def test_compaction_explains_what_it_has_removed(scene: Scene) -> None:
    assert scene.counts("compacted") == {Kind.LANDED: 3, Kind.COMPACTED: 38}


def test_transactions_are_told_apart_by_how_they_ended(scene: Scene) -> None:
    assert scene.counts("transactions") == {
        Kind.LANDED: 13,
        Kind.MARKER: 3,
        Kind.ABORTED: 4,
        Kind.OPEN: 3,
    }
    assert scene.part("transactions")["committed_records"] == 13


def test_a_topic_made_again_under_its_name_is_two_topics(scene: Scene) -> None:
    assert scene.counts("recreated") == {Kind.NOT_LANDED_YET: 8}
    assert scene.counts("recreated", current=False) == {Kind.RECREATED: 12}


def test_an_entry_that_is_lost_is_a_fault_also_below_all_others_and_below_the_log_start(
    scene: Scene,
) -> None:
    assert scene.counts("firstlost") == {Kind.MISSING: 10, Kind.LANDED: 20}
    assert scene.files("firstlost") == ["no entry of the lake names it"]
    assert scene.counts("midlost") == {Kind.ONLY_IN_LAKE: 10, Kind.DELETED: 10, Kind.LANDED: 10}
    assert scene.files("midlost") == ["no entry of the lake names it"]


def test_a_topic_that_was_deleted_is_still_in_the_lake(scene: Scene) -> None:
    assert scene.counts("deleted", current=False) == {Kind.RECREATED: 20}


def test_the_verdict_names_every_kind_of_fault_and_the_command_ends_with_1(scene: Scene) -> None:
    assert scene.run.exit_code == 1 and scene.run.report["clean"] is False
    for words in (
        "30 records are missing",
        "40 rows are doubled",
        "3 records differ",
        "3 rows are out of order",
    ):
        assert words in scene.run.report["verdict"]
    assert scene.run.output.startswith(scene.run.report["verdict"])
    assert "changed-0: 1 record differs: offset 7" in scene.run.output
    assert "changed-0: 1 record differs: offset 7" in scene.run.html


def test_without_a_fault_it_ends_with_0_and_the_log_may_be_read_instead_of_the_broker(
    scene: Scene, tmp_path: Path
) -> None:
    """Flow: the first of the directories is not the broker's, and has none of it."""
    topics = ("clean", "transactions", "trimmed", "compacted")
    log_dir = ("--log-dir", str(tmp_path), "--log-dir", str(scene.data_dir))
    run = run_audit(tmp_path, scene.address, scene.lake, *topics, *log_dir)
    assert run.exit_code == 0 and run.report["clean"] is True
    totals = run.report["totals"]
    assert [totals[kind] for kind in (Kind.MARKER, Kind.COMPACTED, Kind.DELETED)] == [3, 38, 6]
    assert "<svg" in run.html
    assert not re.findall(r'(?:src|href)="(?!#)', run.html), "it needs nothing else"


def test_what_a_data_directory_does_not_have_is_asked_of_the_broker(
    scene: Scene, tmp_path: Path
) -> None:
    log_dir = ("--log-dir", str(tmp_path))
    run = run_audit(tmp_path, scene.address, scene.lake, "transactions", "trimmed", *log_dir)
    assert run.exit_code == 0 and not run.report["notes"]
    assert [run.report["totals"][kind] for kind in (Kind.MARKER, Kind.DELETED)] == [3, 6]


def test_holes_that_nobody_can_look_at_are_a_fault(
    scene: Scene, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flow: the client that reads batches is let in nowhere, and there are no segment files."""

    class Refusing(explaining.Probe):
        def open(self) -> RawLog:
            raise UnreadableLog("not let in")

    monkeypatch.setattr(explaining, "Probe", Refusing)
    question = Question(
        KafkaCluster(scene.address), str(scene.lake.folder), topics=["transactions"]
    )
    found = audit(spark, question)
    (part,) = found.parts
    assert {kind: each.count for kind, each in part.kinds.items()} == {
        Kind.LANDED: 13,
        Kind.UNSEEN: 3,
        Kind.ABORTED: 4,
        Kind.OPEN: 3,
    }
    assert not found.is_clean and "not let in" in found.notes[0]


def test_what_is_deleted_while_the_audit_reads_is_no_fault(
    scene: Scene, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flow: committed records have been read; the first ten are deleted; then all records are
    read where some were aborted. What landed of the ten is not taken for extra rows."""
    planter = Planter(scene.address, scene.lake)
    planter.moving()
    read_uncommitted = explaining.Explaining._uncommitted

    def deleting(self: Any, starts: dict[int, int]) -> Any:
        assert starts
        planter.delete_records("moving", 10)
        return read_uncommitted(self, {number: 0 for number in starts})

    monkeypatch.setattr(explaining.Explaining, "_uncommitted", deleting)
    question = Question(KafkaCluster(scene.address), str(scene.lake.folder), topics=["moving"])
    (found,) = audit(spark, question).parts
    assert {kind: each.count for kind, each in found.kinds.items()} == {
        Kind.ONLY_IN_LAKE: 10,
        Kind.LANDED: 14,
        Kind.ABORTED: 2,
        Kind.MARKER: 2,
    }


def test_a_lake_of_another_cluster_is_refused(
    scene: Scene, spark: SparkSession, tmp_path: Path
) -> None:
    with running_barnabas(tmp_path) as other:
        question = Question(KafkaCluster(other), str(scene.lake.folder), topics=["clean"])
        with pytest.raises(PipelineError, match="was landed from cluster"):
            audit(spark, question)


def test_a_topic_that_is_nowhere_is_said(scene: Scene, spark: SparkSession) -> None:
    question = Question(KafkaCluster(scene.address), str(scene.lake.folder), topics=["nowhere"])
    with pytest.raises(PipelineError, match="no topic nowhere"):
        audit(spark, question)


def test_a_folder_that_is_no_lake_is_said(
    scene: Scene, spark: SparkSession, tmp_path: Path
) -> None:
    question = Question(KafkaCluster(scene.address), str(tmp_path), topics=["clean"])
    with pytest.raises(PipelineError, match="is no lake"):
        audit(spark, question)


def test_a_row_is_traced_to_its_batch_and_its_segment(scene: Scene) -> None:
    given = ["clean", "1", "42", "--lake", str(scene.lake.folder), "--json"]
    traced = CliRunner().invoke(
        lineage_command, [*given, "--log-dir", str(scene.data_dir)], catch_exceptions=False
    )
    origin = json.loads(traced.stdout)
    assert (origin["landing_id"], origin["batch"]) == ("by-hand", 0)
    assert origin["segment"].endswith("clean-1/00000000000000000000.log")
    assert origin["batch_base_offset"] <= 42 <= origin["batch_last_offset"]
    lost = CliRunner().invoke(
        lineage_command, ["clean", "1", "105", "--lake", str(scene.lake.folder)]
    )
    assert lost.exit_code == 1 and "no row of clean-1 at offset 105" in lost.output
