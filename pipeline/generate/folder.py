"""The stream as a DataFrame, for a folder instead of a topic and for a notebook."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from barnabas.pipeline.generate.catalogue import COUNTRIES, DEVICES, KINDS, QUERIES
from barnabas.pipeline.generate.events import NONE, Events, events_of, is_bot
from barnabas.pipeline.generate.numbers import Integers
from barnabas.pipeline.generate.plan import Plan
from barnabas.pipeline.generate.texts import REFERRERS, ids, pages, texts, user_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENT_SCHEMA: Final = (
    "event_id string, event_time timestamp, user_id string, session_id string, kind string, "
    "page string, query string, referrer string, country string, device string, is_bot boolean"
)
POSITION_SCHEMA: Final = "position long, arrived_at timestamp"
FORMATS: Final = ("parquet", "json")


def activity(spark: "SparkSession", plan: Plan) -> "DataFrame":
    """The events as columns, with their position in the stream and when they arrived."""
    return _blocks(spark, plan).mapInArrow(_columns_of(plan), f"{POSITION_SCHEMA}, {EVENT_SCHEMA}")


def json_lines(spark: "SparkSession", plan: Plan) -> "DataFrame":
    """The events as the topic has them: one column `value` of JSON text."""
    return _blocks(spark, plan).mapInArrow(_values_of(plan), "value string")


def write_folder(spark: "SparkSession", plan: Plan, folder: str, form: str) -> None:
    """Write the stream to a folder that is not there yet, as Parquet or as JSON lines."""
    if form == "parquet":
        activity(spark, plan).write.parquet(folder)
    else:
        json_lines(spark, plan).write.text(folder)


def _blocks(spark: "SparkSession", plan: Plan) -> "DataFrame":
    """One row per block; Spark divides them among its tasks."""
    blocks = len(plan.blocks)
    tasks = max(1, min(blocks, spark.sparkContext.defaultParallelism * 4))
    return spark.range(0, blocks, 1, tasks)


Job = Callable[[Iterator[Any]], Iterator[Any]]


def _columns_of(plan: Plan) -> Job:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return (record_batch(events) for events in _events(plan, batches))

    return run


def _values_of(plan: Plan) -> Job:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        arrow = import_module("pyarrow")
        for events in _events(plan, batches):
            values = [text.value.decode() for text in texts(events)]
            yield arrow.RecordBatch.from_arrays([arrow.array(values)], names=["value"])

    return run


def _events(plan: Plan, batches: Iterator[Any]) -> Iterator[Events]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield events_of(plan, plan.blocks[number])


def record_batch(events: Events) -> Any:
    """The events as an Arrow record batch of POSITION_SCHEMA and EVENT_SCHEMA."""
    arrow = import_module("pyarrow")

    def texts_of(names: tuple[str | None, ...], codes: Integers) -> Any:
        indices = arrow.array(codes, mask=codes == NONE)
        return arrow.array(names, arrow.string()).take(indices)

    def moments(times_ms: Integers) -> Any:
        return arrow.array(times_ms * 1000).cast(arrow.timestamp("us", tz="UTC"))

    columns = {
        "position": arrow.array(events.position),
        "arrived_at": moments(events.arrival_ms),
        "event_id": arrow.array(ids(events.event_id)),
        "event_time": moments(events.event_ms),
        "user_id": arrow.array(user_ids(events.visitor)),
        "session_id": arrow.array(ids(events.session_id)),
        "kind": texts_of(KINDS, events.kind),
        "page": arrow.array(pages(events)),
        "query": texts_of(QUERIES, events.query),
        "referrer": texts_of(REFERRERS, events.referrer),
        "country": texts_of(COUNTRIES, events.country),
        "device": texts_of(DEVICES, events.device),
        "is_bot": arrow.array(np.asarray(is_bot(events.visitor))),
    }
    return arrow.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
