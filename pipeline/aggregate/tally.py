"""What a stream has read and what became of it, added up over its runs.

Spark tells of a batch after it is done. A kill between the two loses that batch's report, not its
results; what is missing is then known from the offsets and said as `untold`.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from barnabas.pipeline.aggregate.events import OBSERVED

DEDUPLICATION: Final = "dedupeWithinWatermark"
Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Tally:
    """Records read, and those of them that were not counted, by reason.

    `late`: behind the watermark. `duplicates`: an event id that was there. `unreadable`: no
    event. `ahead`: of more than a day from now. `untold`: read, but what became of them is not
    known. `watermark`: events before it were late at the end of the last batch. `offsets`: the
    next one to be read, by topic.
    """

    records: int = 0
    late: int = 0
    duplicates: int = 0
    unreadable: int = 0
    ahead: int = 0
    untold: int = 0
    watermark: str | None = None
    offsets: Offsets | None = None

    @property
    def counted(self) -> int:
        """Events that are in the results, or will be when their windows end."""
        others = self.late + self.duplicates + self.unreadable + self.ahead + self.untold
        return self.records - others

    def with_batch(self, progress: dict[str, Any]) -> "Tally":
        """After a batch that Spark has told of (StreamingQueryProgress as a dictionary).

        Its `numInputRows` is not the number of records: windows and sessions each read them.
        """
        source = progress["sources"][0]
        untold = 0 if self.offsets is None else _distance(self.offsets, source["startOffset"])
        observed = (progress.get("observedMetrics") or {}).get(OBSERVED) or {}
        return replace(
            self,
            records=self.records + untold + int(observed.get("records") or 0),
            late=self.late + _of_deduplication(progress, "numRowsDroppedByWatermark"),
            duplicates=self.duplicates + _of_deduplication(progress, "numDroppedDuplicateRows"),
            unreadable=self.unreadable + int(observed.get("unreadable") or 0),
            ahead=self.ahead + int(observed.get("ahead") or 0),
            untold=self.untold + untold,
            watermark=(progress.get("eventTime") or {}).get("watermark", self.watermark),
            offsets=source["endOffset"],
        )

    def as_row(self) -> dict[str, Any]:
        """For people and programs: without the offsets."""
        row = {**asdict(self), "counted": self.counted}
        del row["offsets"]
        return row

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Tally":
        """What `to_json` has written."""
        return cls(**json.loads(text))


def _of_deduplication(progress: dict[str, Any], name: str) -> int:
    """A number of the first operator that keeps state, which all events go through.

    It is there once for the windows and once for the sessions, with the same number.
    """
    operators = [o for o in progress["stateOperators"] if o["operatorName"] == DEDUPLICATION]
    found = [o.get(name, o.get("customMetrics", {}).get(name, 0)) for o in operators]
    return int(max(found, default=0))


def _distance(before: Offsets, after: Offsets | None) -> int:
    """How many offsets lie between."""
    return sum(
        max(0, offset - before.get(topic, {}).get(partition, offset))
        for topic, partitions in (after or {}).items()
        for partition, offset in partitions.items()
    )
