"""Directories read as the source reads them, without Spark; and directories to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql.pandas.types import to_arrow_schema

from barnabas.pipeline.log_source.options import parse_options
from barnabas.pipeline.log_source.pieces import Piece
from barnabas.pipeline.log_source.plan import plan
from barnabas.pipeline.log_source.reading import Selection, read_piece
from barnabas.pipeline.log_source.source import schema_of
from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.records import Record

T0_MS = 1_700_000_000_000
Row = dict[str, Any]


def planned(paths: Sequence[Path], **options: str) -> list[Piece]:
    """The pieces of all tasks; an option's dots are written as two underscores."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    read = parse_options({"path": ",".join(map(str, paths)), **given})
    return [piece for pieces in plan(read) for piece in pieces]


def rows(*paths: Path, pieces: Iterable[Piece] | None = None, **options: str) -> list[Row]:
    """The rows, in the order in which the tasks make them; or those of pieces planned before."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    read = parse_options({"path": ",".join(map(str, paths)), **given})
    selection = Selection(
        to_arrow_schema(schema_of(read), timezone="UTC"),
        read.with_control,
        read.fail_on_data_loss,
    )
    found: list[Row] = []
    for piece in planned(paths, **options) if pieces is None else pieces:
        for batch in read_piece(piece, selection):
            batch.validate(full=True)
            found += batch.to_pylist()
    return found


def offsets(*paths: Path, **options: Any) -> list[int]:
    """The offsets of `rows`."""
    return [row["offset"] for row in rows(*paths, **options)]


def a_batch(first: int, count: int = 3, **how: Any) -> bytes:
    """A batch of records that tell their offset; a second from one to the next."""
    records = [
        Record(offset, T0_MS + 1000 * offset, b"k%d" % offset, b"value-%d" % offset)
        for offset in range(first, first + count)
    ]
    return bytes(build_batch(records, **how))


def a_marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    """The end of a transaction."""
    marker = EndTransactionMarker(commit, 0)
    time = T0_MS + 1000 * offset
    return bytes(
        build_end_transaction_marker(
            marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=time, base_offset=offset
        )
    )


def write_segment(directory: Path, base_offset: int, *batches: bytes) -> Path:
    """A `.log` file without indexes."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{base_offset:020d}.log"
    path.write_bytes(b"".join(batches))
    return path
