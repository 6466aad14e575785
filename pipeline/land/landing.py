"""Topics into the lake: a Structured Stream whose every batch becomes part of it whole."""

from __future__ import annotations

import datetime
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.lake.entries import Entry
from barnabas.pipeline.lake.folders import folder_at
from barnabas.pipeline.land import staged
from barnabas.pipeline.land.claims import Claims
from barnabas.pipeline.land.commit import (
    Plan,
    commit,
    has_landed,
    staging_path,
)
from barnabas.pipeline.land.landing_options import LandingOptions
from barnabas.pipeline.land.leader_epochs import LeaderEpochs
from barnabas.pipeline.land.marker import Marker
from barnabas.pipeline.land.rows import landed_rows
from barnabas.pipeline.land.spark_checkpoint import BatchRanges, batch_ranges
from barnabas.pipeline.land.starting import Start, start_landing
from barnabas.pipeline.spark.admin import Admin
from barnabas.pipeline.spark.failures import PipelineError, by_accept_loss, is_of_spark, sentence_of
from barnabas.pipeline.spark.kafka import KafkaCluster, read_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RUN_ID_DIGITS = 8
POLL_S = 0.5
NO_SPACE = "no space left on device"
SPARKS_OVERFLOW = "ArithmeticException: long overflow"
TOO_LATE = (
    "a record has a timestamp after the year 294246, which Spark's source cannot hold: nothing of "
    "the batch with it has landed; the topic's message.timestamp.after.max.ms keeps such ones out"
)


@dataclass(frozen=True)
class LandedBatch:
    """What one batch brought; `unknown` counts records by (topic, field)."""

    batch: int
    rows: int
    dead_letters: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[tuple[str, str], int] = field(default_factory=dict)


Listener = Callable[[LandedBatch], None]


class Landing:
    """A landing that is set up: what a kill left is put right, and nothing forbids going on.

    `on_batch` is told of each batch that has landed, `on_note` of what is worth a sentence.
    """

    def __init__(
        self,
        spark: SparkSession,
        cluster: KafkaCluster,
        options: LandingOptions,
        on_batch: Listener = lambda _: None,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._spark, self._cluster, self._options = spark, cluster, options
        self._on_batch = on_batch
        self._run_id = uuid.uuid4().hex[:RUN_ID_DIGITS]
        self._failure: Exception | None = None
        self._lake = folder_at(spark, options.lake)
        self._checkpoint = folder_at(spark, options.checkpoint)
        staged.set_up(spark)
        self._admin = Admin(spark, cluster)
        try:
            self._start: Start = start_landing(self._admin, self._lake, self._checkpoint, options)
        except BaseException:
            self._admin.close()
            raise
        for note in self._start.notes:
            on_note(note)
        marker = self._start.marker
        uri = self._checkpoint.uri
        self._claims = Claims(self._lake, marker.cluster_id, marker.landing_id, uri)
        self._topic_ids = dict(self._start.topic_ids)
        self._epochs = LeaderEpochs(spark, cluster, self._admin)
        self._spark_checkpoint = self._checkpoint.below(marker.spark_checkpoint)

    @property
    def marker(self) -> Marker:
        """Which landing it is."""
        return self._start.marker

    def query(self) -> StreamingQuery:
        """Start the stream; what ends it is told by `check`."""
        trigger: dict[str, Any] = {"availableNow": True}
        if not self._options.once:
            trigger = {"processingTime": self._options.interval or "0 seconds"}
        frame = read_stream(
            self._spark,
            self._cluster,
            topics=self._options.selection.topics or None,
            pattern=self._options.selection.pattern,
            options={
                "kafka.isolation.level": "read_committed",
                "startingOffsets": self._start.starting_offsets,
                "failOnDataLoss": "true",
                "maxOffsetsPerTrigger": str(self._options.records_per_batch),
            },
        )
        return (
            frame.writeStream.foreachBatch(self._land_or_remember)
            .option("checkpointLocation", self._spark_checkpoint.uri)
            .queryName(f"land {self._options.selection} {self._run_id}")
            .trigger(**trigger)
            .start()
        )

    def run(self) -> None:
        """Land until there is no more (`once`), or for ever. Ctrl-C ends it between two steps.

        PipelineError says what it failed with; what has landed stays landed.
        """
        query = self.query()
        try:
            while not query.awaitTermination(POLL_S):  # type: ignore[arg-type]
                pass
        except Exception as error:
            raise PipelineError(self._sentence(error)) from error
        finally:
            quietly(query.stop)

    def _sentence(self, error: Exception) -> str:
        """Spark's own exception has what a batch failed with as text only."""
        return as_told(sentence_of(self._failure or error), self._lake.uri, self._checkpoint.uri)

    def close(self) -> None:
        """Let go of the connections."""
        quietly(self._admin.close)

    # --- a batch ---------------------------------------------------------------------------

    def _land_or_remember(self, batch: DataFrame, batch_id: int) -> None:
        try:
            self._land(batch, batch_id)
        except Exception as error:
            self._failure = error
            raise

    def _land(self, batch: DataFrame, batch_id: int) -> None:
        marker = self._start.marker
        number = marker.first_batch + batch_id
        if has_landed(self._lake, marker.landing_id, number):
            return
        ranges = batch_ranges(self._spark_checkpoint, batch_id)
        if not ranges:
            return
        topics = sorted({topic for topic, _ in ranges})
        self._claims.claim(topics)
        staging = staging_path(marker.landing_id, number, self._run_id)
        uri = f"{self._lake.uri.rstrip('/')}/{staging}"
        landed_at = datetime.datetime.now(datetime.UTC)
        ids = self._ids_of(topics)
        epochs = self._epochs.of(ranges)
        rows = landed_rows(batch, ids, epochs, landed_at, self._options.parsing)
        self._lake.delete(staging)
        staged.write_staged(rows, uri)
        self._ids_of(topics)  # not made again while they were read
        files = staged.read_staged(batch.sparkSession, uri)
        staged.check_staged(files, ranges)
        entry = self._entry(number, ranges, ids, files)
        self._claims.claim(topics)
        unknown = self._unknown_fields(batch.sparkSession, uri)
        names = staged.names_of(files, marker.landing_id, number)
        moves = tuple((f"{staging}/{x.path}", f"{x.place}/{names[x.path]}") for x in files)
        commit(self._lake, Plan(staging, moves, entry))
        self._lake.delete(staging)  # of a run that came second
        dead = sum(file.rows for file in entry.added if file.is_dead_letters)
        self._on_batch(LandedBatch(number, entry.row_count, dead, {}, unknown))

    def _entry(
        self,
        number: int,
        ranges: BatchRanges,
        ids: Mapping[str, str | None],
        files: list[staged.StagedFile],
    ) -> Entry:
        marker, parsing = self._start.marker, self._options.parsing
        names = staged.names_of(files, marker.landing_id, number)
        by_topic: dict[str, dict[int, tuple[int, int]]] = {}
        for (topic, partition), found in ranges.items():
            by_topic.setdefault(topic, {})[partition] = found
        return Entry(
            landing_id=marker.landing_id,
            batch=number,
            cluster_id=marker.cluster_id,
            landed_at_ms=time.time_ns() // 1_000_000,
            topic_ids=ids,
            offsets=by_topic,
            added=tuple(
                file.landed(names[file.path], parsing.schema_json if parsing else "")
                for file in files
            ),
        )

    def _ids_of(self, topics: list[str]) -> dict[str, str | None]:
        found = {name: topic.topic_id for name, topic in self._admin.topics(topics).items()}
        for topic, topic_id in found.items():
            if self._topic_ids.setdefault(topic, topic_id) != topic_id:
                raise PipelineError(
                    f"{topic} was made again while it landed (its id was "
                    f"{self._topic_ids[topic]}, and is {topic_id} now): --accept-made-again "
                    "lands the new topic from its start, beside the rows of the old one"
                )
        return dict(found)

    def _unknown_fields(self, spark: SparkSession, uri: str) -> dict[tuple[str, str], int]:
        parsing = self._options.parsing
        if parsing is None or not parsing.finds_unknown_fields:
            return {}
        return staged.unknown_fields(spark, uri)


def as_told(sentence: str, lake: str, checkpoint: str) -> str:
    """What stopped a landing, with what goes on in the words of its own options."""
    if NO_SPACE in sentence.lower():
        return (
            f"no space is left for {lake} or {checkpoint}: nothing of the batch has landed; the "
            "same command goes on when there is some"
        )
    if sentence == SPARKS_OVERFLOW:
        return TOO_LATE
    return by_accept_loss(sentence)


def quietly(action: Callable[[], None]) -> None:
    """Do what comes last, also where Spark's JVM is no more: that has been told already."""
    try:
        action()
    except Exception as error:
        if not is_of_spark(error) and not isinstance(error, ConnectionError):
            raise
