"""Arrow batches of rows as records, in pieces that are written as one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

from barnabas.pipeline.spark.failures import PipelineError

COLUMNS = ("part", "offset", "timestamp_ms", "key", "value", "headers")
OVERHEAD_BYTES = 30  # of a row beside its key, value and headers

Header = tuple[str, str | bytes | None]  # as the client takes them; here the value is bytes


class Row(NamedTuple):
    """One record of the lake, and the number of the part of the plan that it belongs to."""

    part: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[Header] | None

    @property
    def size_bytes(self) -> int:
        own = len(self.key or b"") + len(self.value or b"") + OVERHEAD_BYTES
        headers = self.headers or ()
        return own + sum(len(name) + len(value or b"") for name, value in headers)


@dataclass
class Piece:
    """Rows of one part, in order, that are written as one."""

    part: int
    rows: list[Row] = field(default_factory=list)
    size_bytes: int = 0


def rows_in(batch: Any) -> Iterator[Row]:
    """The rows of an Arrow batch with the columns of COLUMNS."""
    part, offset, timestamp_ms, key, value, headers = (batch.column(name) for name in COLUMNS)
    plain = (column.to_pylist() for column in (part, offset, timestamp_ms, key, value))
    return map(Row, *plain, _headers(headers, offset))


def _headers(column: Any, offsets: Any) -> Iterable[list[Header] | None]:
    """Lists of headers; a record without any has None."""
    if column.null_count == len(column):
        return repeat(None, len(column))
    names, values = column.flatten().flatten()
    pairs = zip(names.to_pylist(), values.to_pylist(), strict=True)
    counts = column.value_lengths().to_pylist()
    found = [[next(pairs) for _ in range(count)] if count else None for count in counts]
    if any("\0" in name for name in names.to_pylist()):
        _refuse_cut_name(found, offsets.to_pylist())
    return found


def _refuse_cut_name(headers: Iterable[list[Header] | None], offsets: Iterable[int]) -> None:
    """librdkafka takes a header's name to end before a zero, and says nothing."""
    for found, offset in zip(headers, offsets, strict=True):
        if any("\0" in name for name, _ in found or ()):
            raise PipelineError(
                f"the record at offset {offset} has a header with a zero in its name, which "
                "Kafka's client would cut off: leave it out with --offsets"
            )


def pieces(batches: Iterable[Any], *, most_rows: int, most_bytes: int) -> Iterator[Piece]:
    """Cut the rows of batches into pieces of one part each; a single row may be larger.

    The rows come by part and offset. PipelineError where an offset comes twice: a lake with
    doubled rows is not replayed.
    """
    piece: Piece | None = None
    last = (-1, -1)
    for batch in batches:
        for row in rows_in(batch):
            if (row.part, row.offset) <= last:
                raise PipelineError(f"the lake has offset {row.offset} twice, or out of order")
            last = (row.part, row.offset)
            size = row.size_bytes
            if piece is not None and (
                piece.part != row.part
                or len(piece.rows) >= most_rows
                or piece.size_bytes + size > most_bytes
            ):
                yield piece
                piece = None
            if piece is None:
                piece = Piece(row.part)
            piece.rows.append(row)
            piece.size_bytes += size
    if piece is not None:
        yield piece
