from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.lake.entries import (
    Entry,
    Held,
    LandedFile,
    LandedTopic,
    from_json,
    joined,
    state_of,
    to_json,
)

from .lakes import LANDING, ORDERS_ID, a_compaction, a_file, an_entry

PARSED = '{"type":"struct","fields":[]}'


def test_an_entry_comes_back_from_its_file() -> None:
    entry = an_entry(
        3, a_file("a", 40), a_file("b", parsed=PARSED), offsets={0: (40, 55), 12: (0, 0)}
    )
    assert from_json(to_json(entry)) == entry
    assert entry.row_count == 20
    assert entry.path == f"_landed/{LANDING}/00000000000000000003.json"


def test_a_schema_stands_once_in_an_entry_of_many_files() -> None:
    files = [a_file(str(number), parsed=PARSED) for number in range(50)]
    assert to_json(an_entry(0, *files, offsets={0: (0, 10)})).count("struct") == 1


@pytest.mark.parametrize("text", ["", "null", "{", '{"version": 2}', '"entry"', "[]"])
def test_what_is_no_entry_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(text)


def test_a_file_knows_its_topic_day_and_kind() -> None:
    file = LandedFile("topic=a.b_c-1/date=1969-12-31/x.parquet", 1, 1, None, {0: Held(0, 0, 1)})
    assert (file.topic, file.date, file.is_dead_letters) == ("a.b_c-1", "1969-12-31", False)
    assert file.folder == "topic=a.b_c-1/date=1969-12-31"
    dead = LandedFile("_dead_letters/topic=t/date=9999-12-31/x.parquet", 1, 1, None, {})
    assert (dead.topic, dead.date, dead.is_dead_letters) == ("t", "9999-12-31", True)


def test_what_a_lake_holds_does_not_depend_on_the_order_of_its_entries() -> None:
    entries = [
        an_entry(0, a_file("a"), offsets={0: (0, 10)}),
        an_entry(1, a_file("b", 10), offsets={0: (10, 20), 1: (0, 0)}),
        a_compaction(0, a_file("ab", 0, 20), a_file("a"), a_file("b", 10)),
        an_entry(2, a_file("c", 25), offsets={0: (25, 35)}),
    ]
    states = {str(state_of(order)) for order in itertools.permutations(entries)}
    assert len(states) == 1
    state = state_of(entries)
    assert [file.path.rpartition("/")[2] for file in state.files] == ["ab.parquet", "c.parquet"]
    assert state.landings == (
        LandedTopic(
            LANDING,
            "MkU3OEVBNTcwNTJENDM2Qk",
            "orders",
            ORDERS_ID,
            {0: ((0, 20), (25, 35)), 1: ((0, 0),)},
        ),
    )
    assert state.last_batches == {LANDING: 2, "compactions": 0}


def test_a_topic_made_again_is_another_topic_of_the_same_landing() -> None:
    again = Entry(LANDING, 1, "c", 0, {"orders": "other"}, {"orders": {0: (0, 3)}})
    state = state_of([an_entry(0, offsets={0: (0, 10)}), again])
    assert [(each.topic_id, each.offsets) for each in state.landings] == [
        (ORDERS_ID, {0: ((0, 10),)}),
        ("other", {0: ((0, 3),)}),
    ]


RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)).map(lambda r: (r[0], sum(r))))


@given(RANGES)
def test_joined_ranges_hold_the_same_offsets_and_do_not_touch(
    ranges: list[tuple[int, int]],
) -> None:
    found = joined(ranges)
    assert {n for r in found for n in range(*r)} == {n for r in ranges for n in range(*r)}
    assert all(before[1] < after[0] for before, after in itertools.pairwise(found))


def test_a_topic_without_an_id_has_none_however_it_was_written() -> None:
    """Flow: an earlier Barnabas wrote Kafka's word for no id into entries."""
    text = to_json(an_entry(0, a_file("a"), offsets={0: (0, 10)}))
    old = from_json(text.replace(ORDERS_ID, "A" * 22))
    assert dict(old.topic_ids) == {"orders": None}
    assert [file.topic_id for file in old.added] == [None]
