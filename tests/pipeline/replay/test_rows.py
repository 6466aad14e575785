"""Arrow batches as records, in pieces that are written as one."""

from collections.abc import Iterable

import pyarrow as pa
import pytest

from barnabas.pipeline.replay.rows import COLUMNS, Row, pieces, rows_in
from barnabas.pipeline.spark.failures import PipelineError

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TYPES = (pa.int32(), pa.int64(), pa.int64(), pa.binary(), pa.binary(), HEADERS)


def batch(rows: Iterable[Row]) -> pa.RecordBatch:
    """The rows as Spark sends them."""
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    arrays = [pa.array(column, kind) for column, kind in zip(columns[:5], TYPES, strict=False)]
    headers = [
        None if found is None else [{"key": name, "value": value} for name, value in found]
        for found in columns[5]
    ]
    return pa.RecordBatch.from_arrays([*arrays, pa.array(headers, HEADERS)], names=COLUMNS)


def plain(part: int, offset: int, size: int = 0) -> Row:
    return Row(part, offset, offset, None, b"x" * size, None)


ODD = (
    Row(0, 0, 5, None, None, None),
    Row(0, 1, -1, b"", b"", [("a", b"1"), ("a", None), ("", b"")]),
    Row(0, 2, 1 << 40, b"\x00\xff", b"v", None),
    Row(0, 3, 5, b"k", None, [("é", b"\xff")]),
)


def test_nulls_empty_bytes_and_repeated_headers_come_as_they_are() -> None:
    assert tuple(rows_in(batch(ODD))) == ODD


def test_a_slice_of_a_batch_has_its_own_headers() -> None:
    assert tuple(rows_in(batch(ODD).slice(1, 2))) == ODD[1:3]
    assert tuple(rows_in(batch(ODD).slice(3))) == ODD[3:]


def test_no_headers_and_an_empty_list_of_them_are_the_same() -> None:
    (row,) = rows_in(batch([Row(0, 0, 0, None, None, [])]))
    assert row.headers is None


def test_a_header_whose_name_would_be_cut_off_is_refused_by_its_offset() -> None:
    rows = [*ODD, Row(0, 7, 0, None, None, [("a", None), ("b\0c", b"")])]
    with pytest.raises(PipelineError, match="offset 7 has a header with a zero in its name"):
        list(rows_in(batch(rows)))


def cut(rows: Iterable[Row], **limits: int) -> list[list[tuple[int, int]]]:
    limits = {"most_rows": 100, "most_bytes": 10_000} | limits
    found = pieces([batch(rows)], **limits)
    return [[(row.part, row.offset) for row in piece.rows] for piece in found]


def test_a_piece_has_so_many_rows_at_most() -> None:
    found = cut([plain(0, offset) for offset in range(5)], most_rows=2)
    assert [len(piece) for piece in found] == [2, 2, 1]


def test_a_piece_has_so_many_bytes_at_most_and_a_large_row_is_alone() -> None:
    rows = [plain(0, 0, 100), plain(0, 1, 5000), plain(0, 2, 100), plain(0, 3, 100)]
    assert [len(piece) for piece in cut(rows, most_bytes=400)] == [1, 1, 2]


def test_a_piece_is_of_one_part() -> None:
    rows = [plain(0, 0), plain(0, 9), plain(4, 2), plain(4, 3)]
    assert cut(rows) == [[(0, 0), (0, 9)], [(4, 2), (4, 3)]]


def test_pieces_go_over_the_ends_of_batches() -> None:
    batches = [batch([plain(0, 0)]), batch([]), batch([plain(0, 1), plain(0, 2)])]
    (piece,) = pieces(batches, most_rows=10, most_bytes=10_000)
    assert [row.offset for row in piece.rows] == [0, 1, 2]


def test_nothing_is_no_piece() -> None:
    assert cut([]) == []


@pytest.mark.parametrize("offsets", [(0, 1, 1), (0, 2, 1)])
def test_an_offset_that_comes_twice_or_late_ends_it(offsets: tuple[int, ...]) -> None:
    with pytest.raises(PipelineError, match=r"offset 1 twice, or out of order"):
        cut([plain(0, offset) for offset in offsets])
