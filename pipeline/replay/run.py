"""One run of a replay: rounds of Spark tasks until every partition is at its end."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.replay.patience import patiently
from barnabas.pipeline.replay.plan import EXACTLY_ONCE, Plan
from barnabas.pipeline.replay.progress import Progress, forgotten
from barnabas.pipeline.replay.request import Request
from barnabas.pipeline.replay.rows import COLUMNS
from barnabas.pipeline.replay.targets import Target, Targets
from barnabas.pipeline.replay.task import MOST_BYTES, MOST_ROWS, OUTCOME_SCHEMA, ReplayTask
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.python_client import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipeline.lake.lake import Lake

MOST_ROUNDS = 20


def begin(plan: Plan, settings: Settings) -> None:
    """Make known to the cluster where each part begins."""
    if plan.mode == EXACTLY_ONCE:
        progress = Progress(settings, plan)
        patiently(lambda: progress.begin(plan.parts), "committing where the replay begins")
        progress.close()


class Run:
    """Brings a plan to its end."""

    def __init__(
        self,
        spark: "SparkSession",
        lake: "Lake",
        request: Request,
        plan: Plan,
        settings: Settings,
        targets: Targets,
    ) -> None:
        self._spark, self._lake, self._request = spark, lake, request
        self._plan, self._settings, self._targets = plan, settings, targets
        self._progress = Progress(settings, plan)

    def run(self) -> int:
        """Write until every part is at its end; the number of rows that were written."""
        speculates = self._spark.conf.get("spark.speculation", "false") == "true"
        if speculates and self._plan.mode != EXACTLY_ONCE:
            raise PipelineError(
                "spark.speculation runs tasks twice at a time, which only --exactly-once allows"
            )
        written = 0
        for _ in range(MOST_ROUNDS):
            left = self._left()
            if not left:
                self._progress.close()
                return written
            outcomes = self._round(left)
            written += sum(outcome.written for outcome in outcomes)
            if not any(outcome.taken_over for outcome in outcomes) and (left := self._left()):
                part = self._plan.parts[next(iter(left))]
                raise PipelineError(
                    f"{part.topic}-{part.partition} came to an end before its last row, offset "
                    f"{part.last}: the lake is not what it was when the replay began"
                )
        raise PipelineError("other writers took this replay over again and again: run it once")

    def _left(self) -> dict[int, int]:
        """Of the parts that are not at their end, the offset from which on rows are read."""
        if self._plan.mode == EXACTLY_ONCE:
            return self._left_by_progress()
        return self._left_by_ends()

    def _left_by_progress(self) -> dict[int, int]:
        parts = self._plan.parts
        offsets = patiently(lambda: self._progress.next_offsets(parts), "asking for the progress")
        left = {}
        for number, (part, offset) in enumerate(zip(parts, offsets, strict=True)):
            if offset is None:
                raise forgotten(part)
            if offset <= part.last:
                left[number] = offset
        return left

    def _left_by_ends(self) -> dict[int, int]:
        """Without transactions rows are counted: the task leaves out those that are there."""
        ends = {name: target.ends for name, target in self._known_targets().items()}
        left = {}
        for number, part in enumerate(self._plan.parts):
            there = ends[part.target][part.partition] - part.base
            if there > part.rows:
                raise PipelineError(
                    f"{part.name} has {there - part.rows} records more than were replayed: another "
                    "writer's, or doubled by one that was thought dead; --exactly-once prevents it"
                )
            if there < part.rows:
                left[number] = part.first
        return left

    def _round(self, left: Mapping[int, int]) -> Sequence[Any]:
        """Write what is left of the parts as far as it goes; one outcome per part."""
        rows = self._request.selection.of(self._lake.rows(self._request.selection.topics))
        frame = outcomes_of(numbered(rows, self._plan, left), len(left), self._task(len(left)))
        with _small_batches(self._spark):
            return frame.collect()

    def _task(self, count: int) -> ReplayTask:
        at_a_time = max(1, min(count, self._spark.sparkContext.defaultParallelism))
        rate = self._request.per_second
        return ReplayTask(
            plan=self._plan,
            settings=self._settings,
            batch_bytes={name: t.batch_bytes for name, t in self._known_targets().items()},
            per_second=None if rate is None else rate / at_a_time,
            with_timestamps=self._request.with_timestamps,
        )

    def _known_targets(self) -> dict[str, Target]:
        return self._targets.all_of(sorted({part.target for part in self._plan.parts}))


def numbered(rows: "DataFrame", plan: Plan, left: Mapping[int, int]) -> "DataFrame":
    """The rows of a plan's parts from offsets on: the columns of COLUMNS, and `task`."""
    from pyspark.sql import functions as f

    wanted = [
        (task, number, part.topic, part.topic_id, part.partition, left[number], part.last)
        for task, number in enumerate(sorted(left))
        for part in (plan.parts[number],)
    ]
    schema = (
        "task int, part int, topic string, topic_id string, partition int, "
        "from_offset long, to_offset long"
    )
    parts = f.broadcast(rows.sparkSession.createDataFrame(wanted, schema))
    known = rows.withColumn("topic_id", f.coalesce("topic_id", f.lit("")))
    joined = known.join(parts, ["topic", "topic_id", "partition"])
    within = joined.where("offset BETWEEN from_offset AND to_offset")
    return within.withColumn("timestamp_ms", f.unix_millis("timestamp")).select("task", *COLUMNS)


def outcomes_of(rows: "DataFrame", tasks: int, task: ReplayTask) -> "DataFrame":
    """Write rows, each part in a task of its own and in order: rows in, outcomes out."""

    def write(batches: Iterator[Any]) -> Iterator[Any]:
        return task(batches)

    spread = rows.repartitionById(tasks, "task").select(*COLUMNS)
    return spread.sortWithinPartitions("part", "offset").mapInArrow(write, OUTCOME_SCHEMA)


@contextmanager
def _small_batches(spark: "SparkSession") -> Iterator[None]:
    """Arrow batches that fit in memory whatever the size of a record, for the length of a block."""
    wanted = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(MOST_ROWS),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(MOST_BYTES),
    }
    before: dict[str, str | None] = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is not None:
                spark.conf.set(name, earlier)
