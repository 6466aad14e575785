"""The sentence on top, and a line for each fault."""

from __future__ import annotations

from barnabas.pipeline.audit.summary import FileFault
from barnabas.pipeline.audit.verdict import fault_lines, verdict
from tests.pipeline.audit.found import earlier, found, part

GONE = FileFault("topic=orders/date=2026-03-01/a.parquet", "it is gone", 5)


def test_a_clean_audit_says_how_much_was_compared() -> None:
    said = verdict(found(part(LANDED=(90, 0), MARKER=(10, 90))))
    assert said == (
        "Every landed record of orders is in the lake once, byte for byte as the broker has it: "
        "90; 10 offsets without a record, all explained."
    )


def test_what_is_still_to_land_is_no_gap() -> None:
    said = verdict(found(part(LANDED=(90, 0), NOT_LANDED_YET=(7, 90), OPEN=(3, 97))))
    assert said.endswith("90; 10 still to land.")


def test_rows_that_only_the_lake_has_are_told_apart() -> None:
    old = earlier(part(1, RECREATED=(4, 0)))
    said = verdict(found(part(LANDED=(1, 0), ONLY_IN_LAKE=(2, 1)), old))
    assert "; 2 more that the broker no longer holds" in said


def test_nothing_landed_is_said_as_such() -> None:
    assert verdict(found(part())) == (
        "Nothing of orders has landed, and the broker holds nothing of it."
    )


def test_every_kind_of_fault_is_in_the_sentence_and_where() -> None:
    one = part(LANDED=(10, 0), MISSING=(1, 10), DOUBLED=(5, 0))
    other = part(1, "clicks", DIFFERING=(2, 3))
    said = verdict(found(one, other, files=(GONE,)))
    assert said == (
        "The lake is not what the broker holds: 1 record is missing, 5 rows are doubled, "
        "2 records differ in orders-0, clicks-1; 1 file of the lake is not what the entries say."
    )


def test_a_file_alone_is_a_fault() -> None:
    assert verdict(found(part(LANDED=(1, 0)), files=(GONE,))) == (
        "The lake is not what the broker holds: 1 file of the lake is not what the entries say."
    )


def test_each_fault_has_a_line_with_its_offsets() -> None:
    lines = list(fault_lines(found(part(MISSING=(1, 7), DOUBLED=(5, 10)), files=(GONE,))))
    assert lines == [
        "orders-0: 1 record is missing: offset 7",
        "orders-0: 5 rows are doubled: offsets 10-14",
        "topic=orders/date=2026-03-01/a.parquet: it is gone (5 rows)",
    ]
