"""The audit itself: both sides of one moment, compared in Spark, and what comes of it.

    found = audit(spark, KafkaCluster("127.0.0.1:9092"), "/data/lake", topics=["orders"])
    print(verdict(found))

The lake's entries are read first and the broker's offsets after them, so that a landing and
producers may go on: what comes later is beyond what is looked at. What retention takes from the
broker meanwhile counts as gone, and where files of the lake change in the middle (a compaction),
the audit begins once more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from barnabas.pipeline.audit import (
    broker_side,
    classifying,
    contents,
    lake_facts,
    lake_side,
    parts,
    results,
)
from barnabas.pipeline.audit.broker_side import BrokerView
from barnabas.pipeline.audit.explaining import Explaining
from barnabas.pipeline.audit.kinds import Kind
from barnabas.pipeline.audit.lake_facts import FileHolds
from barnabas.pipeline.audit.lake_side import LakeView
from barnabas.pipeline.audit.letting_go import is_trimmed
from barnabas.pipeline.audit.parts import Part, PartKey
from barnabas.pipeline.audit.question import Question
from barnabas.pipeline.audit.ranges import layers
from barnabas.pipeline.audit.results import PartFacts
from barnabas.pipeline.audit.summary import Found
from barnabas.pipeline.spark.admin import Admin
from barnabas.pipeline.spark.failures import PipelineError, causes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 3
BROADCAST_CELLS = 200_000


def audit(spark: SparkSession, question: Question) -> Found:
    """Hold the lake against the broker; PipelineError if that cannot be done."""
    with Admin(spark, question.cluster) as admin:
        for attempt in range(ATTEMPTS):
            view: LakeView | None = None
            try:
                view = _view(spark, admin, question)
                found = _Audit(spark, admin, question, view).run()
            except Exception as error:
                if attempt + 1 < ATTEMPTS and _may_pass(error, spark, question, view):
                    continue
                raise
            if found.is_clean or not (
                _is_overtaken(spark, question, view) or (not attempt and _may_have_moved(found))
            ):
                break
    return found


def _view(spark: SparkSession, admin: Admin, question: Question) -> LakeView:
    """The lake, narrowed to the topics in question."""
    view = lake_side.look(spark, question.lake)
    landed = sorted({landing.topic for landing in view.state.landings})
    if question.topics is not None:
        topics = list(dict.fromkeys(question.topics))
        unknown = [name for name in topics if name not in landed]
        if unknown:
            there = admin.existing(unknown)
            missing = [name for name in unknown if name not in there]
            if missing:
                raise PipelineError(
                    f"there is no topic {', '.join(missing)} at "
                    f"{question.cluster.bootstrap_servers}, nor has one landed in {question.lake}"
                )
    else:
        pattern = question.pattern or ".*"
        topics = sorted(set(admin.topics(pattern=pattern)) | set(admin.matching(pattern, landed)))
        if not topics:
            raise PipelineError(f"no topic matches {pattern}, in the broker or in the lake")
    return replace(view, topics=topics)


def _may_pass(
    error: Exception, spark: SparkSession, question: Question, view: LakeView | None
) -> bool:
    """Whether the next attempt may do without it; no view: looking at the lake met with it."""
    if view is None:
        return _is_of_a_file_that_went(error)
    return _is_sharing_a_consumer(error) or _is_overtaken(spark, question, view)


def _is_of_a_file_that_went(error: Exception) -> bool:
    """Whether a file had been listed, and was gone when it was opened or asked for its size.

    A landing moves its files to their places and a compaction deletes those that it has merged.
    """
    kinds = {cause.kind for cause in causes_of(error)}
    return bool(kinds & {"FileNotFoundError", "FileNotFoundException"})


def _is_overtaken(spark: SparkSession, question: Question, view: LakeView) -> bool:
    return view.is_overtaken(lake_side.look(spark, question.lake))


def _is_sharing_a_consumer(error: Exception) -> bool:
    """Whether tasks of Spark's have got the same consumer, as where records go while they read.

    One that is told of an offset that has gone gives its consumer back to the pool, and uses it
    on; another task that reads the same partition is given it.
    """
    return any(
        "ConcurrentModificationException" in text for cause in causes_of(error) for text in cause
    )


def _may_have_moved(found: Found) -> bool:
    """Whether the broker's cleaner may have been between two readings of its log: once more."""
    return any(each.part.is_compacting and each.count(Kind.EXTRA) for each in found.parts)


class _Audit:
    """One attempt."""

    def __init__(
        self, spark: SparkSession, admin: Admin, question: Question, view: LakeView
    ) -> None:
        self.spark, self.admin, self.question, self.view = spark, admin, question, view
        self.notes: list[str] = []
        self.kept: list[DataFrame] = []
        self.broker = self._look_at_broker()

    def _look_at_broker(self) -> BrokerView:
        found = broker_side.look(self.admin, self.view.topics)
        for cluster_id, topic in self.view.cluster_ids().items():
            if cluster_id and cluster_id != found.cluster_id:
                raise PipelineError(
                    f"{topic} in {self.question.lake} was landed from cluster {cluster_id}, and "
                    f"{self.question.cluster.bootstrap_servers} is cluster {found.cluster_id}: "
                    "--bootstrap names the cluster, --lake the lake"
                )
        return found

    def run(self) -> Found:
        """Everything, in the order in which it has to be asked."""
        try:
            return self._run()
        finally:
            for frame in self.kept:
                frame.unpersist()

    def _keep(self, frame: DataFrame) -> DataFrame:
        """Work out a frame once, until the audit is over."""
        self.kept.append(frame.persist())
        return frame

    def _run(self) -> Found:
        runs, holds = self._look_at_lake()
        faults, damaged = lake_facts.file_faults(self.view, holds)
        self.parts = self._parts({each.key for each in holds})
        self.numbers = parts.part_rows(self.spark, self.parts)
        lake = self._numbered(runs)
        stored = self._keep(self._stored())
        cells = contents.cells(stored, lake)
        facts = results.part_facts(cells)
        laid = [classifying.lake_layers(lake), *self._differing(cells, facts, holds)]
        segments = self._keep(self._segments(laid, lake, stored, facts, damaged))
        behind = lake_facts.out_of_order(holds)
        found = Found(
            lake=self.question.lake,
            bootstrap=self.question.cluster.bootstrap_servers,
            cluster_id=self.broker.cluster_id,
            audited_at_ms=time.time_ns() // 1_000_000,
            is_everything=self.question.is_everything,
            topics=self.view.topics,
            parts=results.parts_found(segments, self.parts, facts, behind),
            files=faults,
            file_count=len(self.view.named()),
            unnamed_files=len(self.view.strangers()),
            notes=self.notes,
        )
        found = results.with_map(found, self.spark, segments)
        return results.with_times(found, self._rows(), self.numbers, holds)

    def _rows(self, only: Set[str] | None = None) -> DataFrame:
        return lake_side.rows(self.spark, self.view, only)

    def _look_at_lake(self) -> tuple[DataFrame, list[FileHolds]]:
        """The runs of all rows by file, and what each file holds."""
        runs = self._keep(contents.lake_runs(self._rows()))
        holds = lake_facts.file_holds(self.view, runs)
        tangled = {each.path for each in holds if each.is_tangled}
        if not tangled:
            return runs, holds
        others = contents.lake_runs(self._rows({each.path for each in holds} - tangled))
        again = others.unionByName(contents.runs_as_written(self._rows(tangled)))
        return again, lake_facts.file_holds(self.view, self._keep(again))

    # --- partitions and rows ---------------------------------------------------------------

    def _parts(self, in_files: set[PartKey]) -> list[Part]:
        current = {
            PartKey(topic, self.broker.topic_ids[topic], number)
            for topic, number in self.broker.log_ends
        }
        landed = self.view.landed()
        keys = sorted(current | landed.keys() | in_files)
        return [
            self._part(number, key, key in current, landed.get(key, ()))
            for number, key in enumerate(keys)
        ]

    def _part(
        self, number: int, key: PartKey, is_current: bool, landed: tuple[tuple[int, int], ...]
    ) -> Part:
        if not is_current:
            return Part(number, key, False, 0, 0, 0, landed)
        place = (key.topic, key.partition)
        policy = self.broker.configs[key.topic].get("cleanup.policy", "delete")
        return Part(
            number,
            key,
            True,
            self.broker.log_starts[place],
            self.broker.last_stable[place],
            self.broker.log_ends[place],
            landed,
            is_compacting="compact" in policy,
        )

    def _numbered(self, of_lake: DataFrame) -> DataFrame:
        """Rows of the lake with `part`."""
        return of_lake.join(f.broadcast(self.numbers), ["topic", "topic_id", "partition"])

    def _current(self) -> list[Part]:
        return [part for part in self.parts if part.is_current]

    def _stored(self) -> DataFrame:
        """The records that the lake is meant to have, in runs."""
        is_everything = self.question.is_everything
        return broker_side.runs(
            self.spark, self.question.cluster, self._current(), committed=not is_everything
        )

    def _differing(
        self, cells: DataFrame, facts: Mapping[int, PartFacts], holds: Sequence[FileHolds]
    ) -> list[DataFrame]:
        """Offsets whose rows are not alike, as a layer: the rows of unlike cells one by one."""
        cell_count = sum(each.unlike_cells for each in facts.values())
        if not cell_count:
            return []
        unlike = cells.where("is_unlike").select("part", "cell")
        few = f.broadcast(unlike) if cell_count <= BROADCAST_CELLS else unlike
        spans = {
            part.number: (first << contents.CELL_BITS, (last + 1) << contents.CELL_BITS)
            for part in self.parts
            if part.number in facts
            and (first := facts[part.number].first_unlike) is not None
            and (last := facts[part.number].last_unlike) is not None
        }
        keys = {part.key: spans[part.number] for part in self.parts if part.number in spans}
        files = {
            each.path
            for each in holds
            if each.key in keys
            and each.first < keys[each.key][1]
            and each.last >= keys[each.key][0]
        }
        lake = self._numbered(self._rows(files))
        wanted = [
            _narrowed(part, *spans[part.number]) for part in self._current() if part.number in spans
        ]
        records = broker_side.records(
            self.spark, self.question.cluster, wanted, committed=not self.question.is_everything
        )
        cell = contents.cell_of("offset")
        in_lake = lake.withColumn("cell", cell).join(few, ["part", "cell"], "left_semi")
        if records is None:
            return [layers(contents.differing(None, in_lake), {"differing": 1})]
        numbered = broker_side.numbered(self.spark, records, wanted).withColumn("cell", cell)
        in_broker = numbered.join(few, ["part", "cell"], "left_semi")
        return [layers(contents.differing(in_broker, in_lake), {"differing": 1})]

    # --- offsets ---------------------------------------------------------------------------

    def _segments(
        self,
        laid: Sequence[DataFrame],
        lake: DataFrame,
        stored: DataFrame,
        facts: Mapping[int, PartFacts],
        damaged: Mapping[PartKey, list[tuple[int, int]]],
    ) -> DataFrame:
        """Every offset by kind.

        All that is read from the broker has been read before its log starts are asked for once
        more: what retention took in between, whose rows are only in the lake then, would be taken
        for aborted otherwise, or for a hole.
        """
        explaining = Explaining(self.spark, self.question, self.parts, self._keep)
        seen = explaining.explain(stored, {number: each.records for number, each in facts.items()})
        self.notes += seen.notes()
        self._look_again()
        self._decide_trimmed(seen.cut, lake)
        weights = {"stored": 1} if self.question.is_everything else {"stored": 1, "committed": 1}
        known = parts.known_layers(self.spark, self.parts, damaged)
        return classifying.classified(
            self.spark,
            [*laid, layers(stored, weights), known, *seen.layers],
            self.parts,
            unprobed=set(seen.unread),
            is_everything=self.question.is_everything,
        )

    def _look_again(self) -> None:
        """What the broker has let go while it was read is held no longer."""
        places = [(part.key.topic, part.key.partition) for part in self._current()]
        starts = self.admin.offsets(places, at="earliest", committed=False)
        self.parts = [
            replace(part, log_start=max(part.log_start, starts[part.place].offset))
            if part.is_current
            else part
            for part in self.parts
        ]

    def _decide_trimmed(self, cut: Mapping[int, int], lake: DataFrame) -> None:
        beginnings = [part for part in self._current() if part.log_start > 0]
        if not beginnings:
            return
        newest = self._newest_below(beginnings, lake)
        now_ms = time.time_ns() // 1_000_000
        trimmed = {
            part.number
            for part in beginnings
            if is_trimmed(
                self.broker.configs[part.key.topic],
                starts_within_batch=cut.get(part.number) == part.log_start,
                newest_below_ms=newest.get(part.number),
                now_ms=now_ms,
            )
        }
        self.parts = [replace(part, is_trimmed=part.number in trimmed) for part in self.parts]

    def _newest_below(self, beginnings: Sequence[Part], lake: DataFrame) -> dict[int, int]:
        """By part the newest timestamp of the lake's rows below the log start."""
        rows = [(part.number, part.log_start) for part in beginnings]
        limits = f.broadcast(parts.small_frame(self.spark, "part int, log_start bigint", rows))
        below = lake.where("times_named > 0").join(limits, "part").where("start < log_start")
        across = below.where("end > log_start").select("file").distinct().collect()
        found = [below.where("end <= log_start").select("part", "last_ms")]
        if across:
            paths = {lake_side.path_in_lake(self.view.folder, row.file) for row in across}
            cut = (
                self._numbered(self._rows(paths))
                .join(limits, "part")
                .where("offset < log_start AND times_named > 0")
            )
            found.append(cut.select("part", f.unix_millis("timestamp").alias("last_ms")))
        both = reduce(DataFrame.unionByName, found).groupBy("part")
        return {
            row.part: row.newest for row in both.agg(f.max("last_ms").alias("newest")).collect()
        }


def _narrowed(part: Part, start: int, end: int) -> Part:
    """A partition as if its log had only the offsets [start, end)."""
    log_start = min(max(part.log_start, start), part.log_end)
    return replace(part, log_start=log_start, log_end=max(log_start, min(part.log_end, end)))
