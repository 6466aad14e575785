"""What a Spark task of a replay does: write the rows of its parts, say what became of them.

Runs on the executors, which need `barnabas[pipeline]` as the driver does: PySpark sends the
function by its name. A task may run twice, at the same time even; the writers see to it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.pipeline.replay.pace import Pace
from barnabas.pipeline.replay.plan import EXACTLY_ONCE, Part, Plan
from barnabas.pipeline.replay.rows import Piece, pieces
from barnabas.pipeline.spark.python_client import Settings

if TYPE_CHECKING:
    from barnabas.pipeline.replay.idempotent import IdempotentWriter
    from barnabas.pipeline.replay.transactional import TransactionalWriter

# Of a transaction, or of what is handed to the idempotent producer at once.
MOST_ROWS = 20_000
MOST_BYTES = 16 << 20
PRODUCER: Settings = {
    "compression.type": "lz4",
    "linger.ms": 20,
    "message.max.bytes": 100_000_000,
    "queue.buffering.max.kbytes": 131_072,
    "queue.buffering.max.messages": 100_000,
}
OUTCOME_SCHEMA = "part int, written long, taken_over boolean"


class Outcome(NamedTuple):
    """What one task did for one part of the plan."""

    part: int
    written: int
    taken_over: bool  # by another writer, which goes on


@dataclass(frozen=True)
class ReplayTask:
    """What the tasks of a replay are told; the settings hold passwords and are not in the repr."""

    plan: Plan
    settings: Settings = field(repr=False)
    batch_bytes: dict[str, int]  # of each target, what one batch may hold
    per_second: float | None = None  # for one task
    with_timestamps: bool = True

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Arrow batches of rows by part and offset in, Arrow batches of outcomes out."""
        pyarrow: Any = import_module("pyarrow")
        outcomes = list(self.outcomes(batches))
        columns = zip(*outcomes, strict=True) if outcomes else ((), (), ())
        types = (pyarrow.int32(), pyarrow.int64(), pyarrow.bool_())
        arrays = [pyarrow.array(c, t) for c, t in zip(columns, types, strict=True)]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=list(Outcome._fields))

    def outcomes(self, batches: Iterable[Any]) -> Iterator[Outcome]:
        """Write the rows of batches."""
        pace = Pace(self.per_second)
        most_rows = min(MOST_ROWS, pace.at_once or MOST_ROWS)
        cut = pieces(batches, most_rows=most_rows, most_bytes=MOST_BYTES)
        for part, of_part in groupby(cut, key=attrgetter("part")):
            yield self._written(part, of_part, pace)

    def _written(self, number: int, of_part: Iterator[Piece], pace: Pace) -> Outcome:
        from barnabas.pipeline.replay.transactional import TakenOver

        written = 0
        try:
            writer = self._writer(self.plan.parts[number])
            try:
                for piece in of_part:
                    pace.wait(writer.left(piece.rows))
                    written += writer.write(piece.rows)
                writer.finish()
            finally:
                writer.close()
        except TakenOver:
            return Outcome(number, written, True)
        return Outcome(number, written, False)

    def _writer(self, part: Part) -> "TransactionalWriter | IdempotentWriter":
        from barnabas.pipeline.replay.idempotent import IdempotentWriter
        from barnabas.pipeline.replay.transactional import TransactionalWriter

        known: Settings = {**PRODUCER, "batch.size": self.batch_bytes[part.target]}
        make: Callable[..., TransactionalWriter | IdempotentWriter] = (
            TransactionalWriter if self.plan.mode == EXACTLY_ONCE else IdempotentWriter
        )
        return make(known | self.settings, self.plan, part, with_timestamps=self.with_timestamps)
