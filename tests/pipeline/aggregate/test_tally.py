"""What a stream has read, added up over batches and runs."""

from __future__ import annotations

from typing import Any

from barnabas.pipeline.aggregate.tally import Tally


def progress(start: int | None, end: int, late: int = 0, **observed: int) -> dict[str, Any]:
    """What Spark tells of a batch of a topic's first partition."""
    operator = {
        "operatorName": "dedupeWithinWatermark",
        "numRowsDroppedByWatermark": late,
        "customMetrics": {"numDroppedDuplicateRows": 2},
    }
    aggregating = {"operatorName": "stateStoreSave", "numRowsDroppedByWatermark": 99}
    return {
        "numInputRows": 2 * (end - (start or 0)),
        "eventTime": {"watermark": f"2026-03-02T00:00:{end:02d}Z"},
        "stateOperators": [aggregating, operator, operator],
        "observedMetrics": {"records": {"records": end - (start or 0), **observed}},
        "sources": [
            {
                "startOffset": None if start is None else {"t": {"0": start}},
                "endOffset": {"t": {"0": end}},
            }
        ],
    }


def test_batches_add_up() -> None:
    tally = Tally().with_batch(progress(None, 10, late=1)).with_batch(progress(10, 30, late=3))
    assert (tally.records, tally.late, tally.duplicates, tally.untold) == (30, 4, 4, 0)
    assert (tally.counted, tally.watermark) == (22, "2026-03-02T00:00:30Z")


def test_a_record_that_is_no_event_is_not_counted() -> None:
    tally = Tally().with_batch(progress(0, 10, unreadable=3, ahead=1))
    assert (tally.unreadable, tally.ahead, tally.counted) == (3, 1, 4)


def test_a_batch_whose_report_a_kill_has_lost_is_known_by_its_offsets() -> None:
    tally = Tally().with_batch(progress(None, 10)).with_batch(progress(25, 30))
    assert (tally.records, tally.untold, tally.counted) == (30, 15, 11)


def test_a_tally_goes_on_after_a_restart() -> None:
    before = Tally().with_batch(progress(None, 10, late=1))
    after = Tally.from_json(before.to_json())
    assert after == before
    assert after.with_batch(progress(10, 20)).untold == 0


def test_a_new_partition_begins_where_it_begins() -> None:
    later = progress(10, 20)
    later["sources"][0]["startOffset"]["t"]["1"] = 500
    assert Tally().with_batch(progress(None, 10)).with_batch(later).untold == 0


def test_a_row_says_what_was_counted_and_not_the_offsets() -> None:
    row = Tally().with_batch(progress(None, 10)).as_row()
    assert row["counted"] == 8 and "offsets" not in row
