"""Where results go: a folder of Parquet, a topic, or both, a micro-batch at a time.

The folder:

    <folder>/windows/batch=<number>/*.parquet
    <folder>/sessions/batch=<number>/*.parquet
    <folder>/_aggregation.json      whose results these are
    <folder>/_staging               what a kill has left is here, and no reader sees it

A batch is written beside its place and renamed into it, so it is there whole or not at all, and
one that is there is not written again: after a kill Spark repeats its last batch with the same
offsets and the same state. To the topic it is written again, with the same keys and values: who
reads by key, or compacts, has every result once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from barnabas.pipeline.aggregate.counts import SESSION, WINDOW
from barnabas.pipeline.spark.files import Files
from barnabas.pipeline.spark.kafka import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FOLDERS: Final = {WINDOW: "windows", SESSION: "sessions"}
STAGING: Final = "_staging"
COLUMNS: Final = {
    WINDOW: ("start", "end", "kind", "is_bot", "events"),
    SESSION: (
        "start", "end", "user_id", "is_bot", "events", "page_views", "searches", "sign_ins",
    ),
}  # fmt: skip
KEYS: Final = {WINDOW: ("kind", "is_bot", "start"), SESSION: ("user_id", "is_bot", "start")}
TIME_FORMAT: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSX"

Output = Callable[["DataFrame", int], None]


def to_folder(files: Files) -> Output:
    """Writes a batch of results to the folder, once."""

    def write(results: "DataFrame", batch: int) -> None:
        for what, folder in FOLDERS.items():
            place = f"{folder}/batch={batch:010d}"
            if not files.exists(place):
                rows = results.where(results.what == what).select(*COLUMNS[what])
                staged = f"{STAGING}/{place}"
                rows.write.mode("overwrite").parquet(files.path(staged))
                files.rename(staged, place)

    return write


def to_topic(cluster: KafkaCluster, topic: str) -> Output:
    """Writes a batch of results to the topic, at least once; see `as_records`."""

    def write(results: "DataFrame", batch: int) -> None:
        options = cluster.source_options() | {"topic": topic}
        as_records(results).write.format("kafka").options(**options).save()

    return write


def as_records(results: "DataFrame") -> "DataFrame":
    """Key and value of each result, JSON both; the key says what is counted, the value all.

    {"what": "window", "kind": "page_view", "is_bot": false, "start": "2026-03-02T10:00:00.000Z"}
    {"what": "session", "user_id": "u0000042", "is_bot": false, "start": "…"}
    """
    from pyspark.sql import functions as f

    def json_of(names: Sequence[str]) -> "Column":
        return f.to_json(f.struct("what", *names), {"timestampFormat": TIME_FORMAT})

    def one_of(columns: Mapping[str, Sequence[str]]) -> "Column":
        of_window, of_session = json_of(columns[WINDOW]), json_of(columns[SESSION])
        return f.when(f.col("what") == WINDOW, of_window).otherwise(of_session)

    return results.select(one_of(KEYS).alias("key"), one_of(COLUMNS).alias("value"))
