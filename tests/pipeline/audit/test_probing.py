"""What lies in the holes of a log, by the headers of its batches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.pipeline.audit.probing import (
    CUT,
    MARKER,
    THINNED,
    UNDECIDED,
    Found,
    Hole,
    SegmentsFirst,
    explain,
)
from barnabas.pipeline.audit.raw_log import RawLog, UnreadableLog
from barnabas.storage.batch.header import CONTROL, TRANSACTIONAL, BatchHeader


def batch(
    first: int, last: int, *, attributes: int = 0, magic: int = 2, records: int = 1
) -> BatchHeader:
    delta = last - first
    return BatchHeader(0, first, 100, 0, magic, 0, attributes, delta, 0, 0, 1, 0, 0, records)


class Log:
    """Batches in order, and where somebody began to read them."""

    def __init__(self, *batches: BatchHeader) -> None:
        self.batches = batches
        self.looked_up: list[int] = []

    def read_from(self, offset: int) -> Iterator[BatchHeader]:
        self.looked_up.append(offset)
        return iter([each for each in self.batches if each.next_offset > offset])


def test_a_control_batch_is_a_marker_and_a_gap_within_a_batch_was_compacted() -> None:
    log = Log(batch(0, 9), batch(10, 10, attributes=CONTROL), batch(11, 20))
    holes = [Hole(10, 11), Hole(14, 16)]
    assert list(explain(holes, log.read_from)) == [Found(MARKER, 10, 11), Found(THINNED, 14, 16)]
    assert log.looked_up == [10]


@pytest.mark.parametrize("attributes", [0, TRANSACTIONAL])
def test_a_batch_with_a_record_at_each_offset_explains_no_hole(attributes: int) -> None:
    """Whether the record was aborted is seen where all records are read."""
    full = batch(100, 109, attributes=attributes, records=10)
    assert list(explain([Hole(103, 106)], Log(full).read_from)) == []


def test_what_a_batch_of_a_transaction_lacks_may_have_been_aborted() -> None:
    thinned = batch(100, 109, attributes=TRANSACTIONAL, records=9)
    found = list(explain([Hole(103, 106)], Log(thinned).read_from))
    assert found == [Found(UNDECIDED, 103, 106)]


def test_a_hole_between_batches_stays_unexplained() -> None:
    log = Log(batch(0, 9), batch(20, 29))
    assert list(explain([Hole(10, 20)], log.read_from)) == []


def test_a_hole_over_several_batches_is_told_piece_by_piece() -> None:
    log = Log(
        batch(0, 4), batch(5, 5, attributes=CONTROL), batch(8, 8, attributes=CONTROL), batch(9, 12)
    )
    assert list(explain([Hole(3, 11)], log.read_from)) == [
        Found(THINNED, 3, 5),
        Found(MARKER, 5, 6),
        Found(MARKER, 8, 9),
        Found(THINNED, 9, 11),
    ]


def test_holes_that_share_a_batch_are_told_apart() -> None:
    log = Log(batch(0, 9))
    holes = [Hole(1, 2), Hole(4, 5), Hole(8, 10)]
    assert list(explain(holes, log.read_from)) == [
        Found(THINNED, 1, 2),
        Found(THINNED, 4, 5),
        Found(THINNED, 8, 10),
    ]


def test_a_log_start_within_a_batch_is_a_cut() -> None:
    assert list(explain([Hole(5, 5)], Log(batch(0, 9)).read_from)) == [Found(CUT, 0, 5)]
    assert list(explain([Hole(10, 10)], Log(batch(0, 9), batch(10, 19)).read_from)) == []
    assert list(explain([Hole(5, 5)], Log().read_from)) == []


def test_a_far_hole_is_looked_up_and_a_near_one_read_on_to() -> None:
    far = 1_000_000
    log = Log(batch(0, 9), batch(10, 10, attributes=CONTROL), batch(far, far, attributes=CONTROL))
    found = list(explain([Hole(10, 11), Hole(far, far + 1)], log.read_from))
    assert found == [Found(MARKER, 10, 11), Found(MARKER, far, far + 1)]
    assert log.looked_up == [10, far]


def test_what_the_oldest_formats_do_not_tell_is_not_made_up() -> None:
    assert list(explain([Hole(4, 6)], Log(batch(0, 9, magic=1)).read_from)) == []


class Raw(Log):
    """A log of one partition that breaks off after some batches."""

    def __init__(self, *batches: BatchHeader, breaks: str = "") -> None:
        super().__init__(*batches)
        self.breaks = breaks

    def headers(
        self, topic: str, topic_id: str, partition: int, offset: int
    ) -> Iterator[BatchHeader]:
        yield from self.read_from(offset)
        if self.breaks:
            raise UnreadableLog(self.breaks)

    def close(self) -> None:
        pass


def read(segments: RawLog, broker: RawLog) -> list[int]:
    log = SegmentsFirst(segments, lambda: broker)
    return [header.base_offset for header in log.headers("t", "id", 0, 5)]


BATCHES = (batch(0, 9), batch(10, 19), batch(20, 29))


def test_what_a_data_directory_does_not_have_is_asked_of_the_broker() -> None:
    broker = Raw(*BATCHES)
    assert read(Raw(breaks="no folder t-0"), broker) == [0, 10, 20]
    assert read(Raw(*BATCHES[:1], breaks="torn"), broker) == [0, 10, 20]
    assert read(Raw(*BATCHES[:2]), broker) == [0, 10, 20], "of a replica that is behind"
    assert broker.looked_up == [5, 10, 20]


def test_the_broker_is_not_asked_for_what_lies_in_segment_files() -> None:
    def no_broker() -> RawLog:
        raise AssertionError

    headers = SegmentsFirst(Raw(*BATCHES), no_broker).headers("t", "id", 0, 5)
    assert [next(headers).base_offset for _ in BATCHES] == [0, 10, 20]


def test_what_neither_can_give_is_said_with_both_reasons() -> None:
    with pytest.raises(UnreadableLog, match="no folder t-0; not let in"):
        read(Raw(breaks="no folder t-0"), Raw(breaks="not let in"))
