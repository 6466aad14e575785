"""Records of a topic as events of a website: one JSON object per value (docs/pipeline.md)."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENT_SCHEMA: Final = (
    "event_id string, event_time timestamp, user_id string, session_id string, kind string, "
    "page string, query string, referrer string, country string, device string, is_bot boolean"
)
NEEDED: Final = ("event_id", "event_time", "user_id", "kind")
KINDS: Final = ("page_view", "search", "sign_in")
OBSERVED: Final = "records"
MOST_AHEAD: Final = "1 DAY"


def events_of(records: "DataFrame") -> "DataFrame":
    """The events in records of Spark's Kafka source; a record that is none is left out.

    An event of more than a day from now is left out as well: the watermark would follow the wrong
    clock it comes from, and every event after it would be late. Observed under the name OBSERVED
    are `records` and those left out, `unreadable` and `ahead`. An event that does not say
    whether a bot made it is of a person.
    """
    from pyspark.sql import functions as f

    event = f.from_json(f.col("value").cast("string"), EVENT_SCHEMA)
    parsed = records.select(event.alias("event")).select("event.*")
    is_unreadable = f.expr(" OR ".join(f"{name} IS NULL" for name in NEEDED))
    is_ahead = f.expr(f"event_time > current_timestamp() + INTERVAL {MOST_AHEAD}")
    observed = parsed.observe(
        OBSERVED,
        f.count("*").alias("records"),
        f.count_if(is_unreadable).alias("unreadable"),
        f.count_if(~is_unreadable & is_ahead).alias("ahead"),
    )
    events = observed.where(~is_unreadable & ~is_ahead)
    return events.withColumn("is_bot", f.expr("coalesce(is_bot, false)"))
