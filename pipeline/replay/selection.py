"""Which records are replayed: of which topics, from when to when, with which keys and offsets."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DAY_MS = 86_400_000


@dataclass(frozen=True)
class OffsetRange:
    """Offsets of a partition, both ends included; without `last` all that follow."""

    partition: int
    first: int
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> "OffsetRange":
        """`3:100-199`, `3:100-`, `3:100` or `3:-199`; PipelineError for anything else."""
        found = re.fullmatch(r"(\d+):(?:(\d*)(-)(\d*)|(\d+))", text.strip())
        if found is None or (found[3] and not found[2] and not found[4]):
            raise PipelineError(f"--offsets {text}: it has to be PARTITION:FIRST-LAST, 0:100-199")
        if found[5]:
            return cls(int(found[1]), int(found[5]), int(found[5]))
        made = cls(int(found[1]), int(found[2] or 0), int(found[4]) if found[4] else None)
        if made.last is not None and made.last < made.first:
            raise PipelineError(f"--offsets {text}: the last offset lies before the first one")
        return made


@dataclass(frozen=True)
class Selection:
    """Of the rows of a lake, those that are replayed; what is empty or None does not restrict."""

    topics: tuple[str, ...]
    topic_ids: tuple[str, ...] = ()
    from_ms: int | None = None  # included
    to_ms: int | None = None  # not included
    keys: tuple[bytes, ...] = ()
    offsets: tuple[OffsetRange, ...] = ()

    def of(self, rows: "DataFrame") -> "DataFrame":
        """The rows that are selected."""
        for condition in self._conditions():
            rows = rows.where(condition)
        return rows

    def to_json(self) -> dict[str, Any]:
        """As a checkpoint keeps it; equal selections are equal there."""
        return {
            "topics": sorted(self.topics),
            "topic_ids": sorted(self.topic_ids),
            "from_ms": self.from_ms,
            "to_ms": self.to_ms,
            "keys": sorted(key.hex() for key in self.keys),
            "offsets": sorted([r.partition, r.first, r.last] for r in self.offsets),
        }

    def _conditions(self) -> Sequence["Column"]:
        from pyspark.sql import functions as f

        found = []
        if self.topic_ids:
            found.append(f.col("topic_id").isin(list(self.topic_ids)))
        if self.from_ms is not None:
            # The date is a folder of the lake: whole folders are left unread.
            found.append(f.col("date") >= _date(self.from_ms))
            found.append(f.unix_millis("timestamp") >= f.lit(self.from_ms))
        if self.to_ms is not None:
            found.append(f.col("date") <= _date(self.to_ms))
            found.append(f.unix_millis("timestamp") < f.lit(self.to_ms))
        if self.keys:
            found.append(f.col("key").isin([bytearray(key) for key in self.keys]))
        if self.offsets:
            found.append(_any_of([_within(wanted) for wanted in self.offsets]))
        return found


def _date(time_ms: int) -> "Column":
    """The UTC day of a time, as the lake's folders have it, whatever the session's time zone."""
    from pyspark.sql import functions as f

    return f.date_from_unix_date(f.lit(time_ms // DAY_MS))


def _within(wanted: OffsetRange) -> "Column":
    from pyspark.sql import functions as f

    inside = (f.col("partition") == wanted.partition) & (f.col("offset") >= wanted.first)
    return inside if wanted.last is None else inside & (f.col("offset") <= wanted.last)


def _any_of(conditions: Sequence["Column"]) -> "Column":
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found
