"""The page: whole in itself, safe, and with every fault to be seen."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("matplotlib")

from barnabas.pipeline.audit.drawing import ROLES, colour, lengths, time_ticks
from barnabas.pipeline.audit.gap_map import MOST_STRIPS, bin_looks, strips
from barnabas.pipeline.audit.kinds import Kind
from barnabas.pipeline.audit.report import to_html
from barnabas.pipeline.audit.summary import FileFault, MapCell, to_json
from barnabas.pipeline.audit.time_plots import count_ticks, delay_ticks, short_count, short_delay
from barnabas.pipeline.audit.verdict import verdict
from tests.pipeline.audit.found import DAY_MS, found, part

FAULTY = found(part(LANDED=(90, 0), MISSING=(1, 95), MARKER=(2, 91)))


def test_the_page_needs_no_other_file_and_no_network() -> None:
    page = to_html(FAULTY)
    assert not re.findall(r'(?:src|href)="(?!#)|url\((?!#)|@import', page)
    assert "<script" not in page


def test_the_page_has_every_picture_in_two_widths_and_in_the_colours_of_the_page() -> None:
    page = to_html(FAULTY)
    assert page.count('<div class="wide"><svg') == page.count('<div class="narrow"><svg') == 3
    for role in ROLES:
        assert colour(role) not in page
    assert "var(--fault)" in page


def test_the_verdict_and_each_fault_are_on_the_page() -> None:
    page = to_html(FAULTY)
    assert f"<h1>{verdict(FAULTY)}</h1>" in page
    assert "orders-0: 1 record is missing: offset 95" in page
    assert ">At fault<" in page and ">Clean<" not in page


def test_names_cannot_break_out_of_the_page() -> None:
    page = to_html(found(part(LANDED=(1, 0)), files=(FileFault("<script>&", "it is gone", 1),)))
    assert "<script>" not in page and "&lt;script&gt;&amp;" in page


def test_an_audit_without_rows_has_a_page_too() -> None:
    assert "holds nothing of it" in to_html(found(part()))


def test_the_json_names_what_the_page_shows() -> None:
    told = to_json(FAULTY, verdict(FAULTY))
    assert told["clean"] is False
    assert told["totals"] == {"landed": 90, "marker": 2, "missing": 1}
    kinds = {each["kind"]: each for each in told["partitions"][0]["kinds"]}
    assert kinds["missing"]["examples"] == [[95, 95]] and kinds["missing"]["is_fault"]
    assert told["volume"][0] == {
        "topic": "orders", "topic_id": "id", "partition": 0, "start_ms": 0, "rows": 10,
    }  # fmt: skip


def test_a_partition_at_fault_is_drawn_however_many_there_are() -> None:
    parts = [part(number, LANDED=(100, 0)) for number in range(3 * MOST_STRIPS)]
    parts.append(part(len(parts), MISSING=(1, 5)))
    shown = strips(found(*parts))
    assert len(shown) == MOST_STRIPS
    assert parts[-1] in shown


def test_a_bin_is_what_most_of_it_is_and_a_single_fault_is_seen() -> None:
    cells = [
        MapCell(0, 0, Kind.LANDED, 1000),
        MapCell(0, 0, Kind.MARKER, 3),
        MapCell(0, 0, Kind.MISSING, 1),
        MapCell(0, 2, Kind.RETAINED, 10),
        MapCell(0, 2, Kind.LANDED, 2),
    ]
    assert bin_looks(cells, 3) == [
        ("landed", "none", True),
        ("", "", False),
        ("gone", "", False),
    ]


def test_neighbours_that_look_the_same_are_one() -> None:
    assert lengths("aabba", str) == [(0, 2, "a"), (2, 2, "b"), (4, 1, "a")]


@pytest.mark.parametrize("span_ms", [900, 60_000, DAY_MS, 40 * DAY_MS, 4000 * DAY_MS])
def test_times_are_few_round_and_within(span_ms: int) -> None:
    start = 1_795_850_000_123
    ticks = time_ticks(start, start + span_ms, 6)
    assert len(ticks) <= 7
    assert all(start <= at <= start + span_ms for at, _ in ticks)


def test_numbers_are_short() -> None:
    assert [short_count(each) for each in (0, 950, 1200, 3e6)] == ["0", "950", "1.2k", "3M"]
    assert [short_delay(each) for each in (3, 2500, 90_000)] == ["3 ms", "2.5 s", "1.5 min"]
    assert count_ticks(128) == [0, 50, 100]
    assert count_ticks(1)[0] == 0
    assert [text for _, text in delay_ticks(20, 90_000)] == ["100 ms", "1 s", "10 s", "1 min"]
