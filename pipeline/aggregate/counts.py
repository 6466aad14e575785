"""What is counted: events in windows, and sessions. DataFrame in, DataFrame out, batch or stream.

Both have the columns of RESULTS, so that one stream carries both and a batch of it is written as
one. In a stream a row comes once, when the watermark has passed its end and it is final.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from barnabas.pipeline.aggregate.events import KINDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW, SESSION = "window", "session"
RESULTS: Final = (
    "what string, start timestamp, end timestamp, is_bot boolean, kind string, user_id string, "
    "events long, page_views long, searches long, sign_ins long"
)
COUNTS_OF_KINDS: Final = dict(zip(("page_views", "searches", "sign_ins"), KINDS, strict=True))


@dataclass(frozen=True)
class Rules:
    """How it is counted; durations as Spark has them, `10 minutes` for instance.

    An event that is more than `watermark` behind the newest is late and not counted.
    """

    watermark: str = "10 minutes"
    window: str = "5 minutes"
    session_gap: str = "30 minutes"


def results(events: "DataFrame", rules: Rules) -> "DataFrame":
    """Windows and sessions of the events, each event once."""
    distinct = without_duplicates(events, rules)
    return windows(distinct, rules).unionByName(sessions(distinct, rules))


def without_duplicates(events: "DataFrame", rules: Rules) -> "DataFrame":
    """Each event once, by its id; in a stream no late ones, and ids are known for a watermark."""
    if not events.isStreaming:
        return events.dropDuplicates(["event_id"])
    in_time = events.withWatermark("event_time", rules.watermark)
    return in_time.dropDuplicatesWithinWatermark(["event_id"])


def windows(events: "DataFrame", rules: Rules) -> "DataFrame":
    """How many events of each kind there are in each window, bots apart."""
    from pyspark.sql import functions as f

    span = f.window("event_time", rules.window).alias("span")
    counted = events.groupBy(span, "kind", "is_bot").agg(f.count("*").alias("events"))
    return _as_results(counted, WINDOW)


def sessions(events: "DataFrame", rules: Rules) -> "DataFrame":
    """Runs of events of one user without a gap longer than `session_gap`, bots apart.

    A session ends `session_gap` after its last event.
    """
    from pyspark.sql import functions as f

    span = f.session_window("event_time", rules.session_gap).alias("span")
    kinds = [
        f.count_if(f.col("kind") == kind).alias(name) for name, kind in COUNTS_OF_KINDS.items()
    ]
    counted = events.groupBy(span, "user_id", "is_bot").agg(f.count("*").alias("events"), *kinds)
    return _as_results(counted, SESSION)


def _as_results(counted: "DataFrame", what: str) -> "DataFrame":
    """The columns of RESULTS; null where a kind of result has none."""
    from pyspark.sql import functions as f

    there = {
        "what": f.lit(what),
        "start": f.col("span.start"),
        "end": f.col("span.end"),
        **{name: f.col(name) for name in counted.columns if name != "span"},
    }
    columns = [part.split() for part in RESULTS.split(", ")]
    return counted.select(
        [there.get(name, f.lit(None)).cast(kind).alias(name) for name, kind in columns]
    )
