"""The offset map beside a plain dict, in little memory."""

import sys
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.compaction.offset_map import NO_KEY, NOT_FOUND, OffsetMap

KEYS = st.one_of(st.none(), st.binary(max_size=3))


@given(
    st.lists(st.lists(KEYS, max_size=20), max_size=10),
    st.integers(0, 60),
    st.sampled_from([1 << 20, 24_000, 8_000]),
)
def test_it_answers_as_a_dict_would(
    batches: list[list[bytes | None]], start: int, memory_bytes: int
) -> None:
    offset_map, model = OffsetMap(memory_bytes), dict[bytes, int]()
    offset = 0
    for keys in batches:
        assert offset_map.put_all(keys, range(len(keys)), offset, start)
        for number, key in enumerate(keys, offset):
            if key is not None and number >= start:
                model[key] = number
        offset += len(keys)
    asked = [b"", b"absent", *filter(None, (key for keys in batches for key in keys))]
    assert offset_map.last_offsets(asked) == [model.get(key, NOT_FOUND) for key in asked]
    assert offset_map.last_offsets([None]) == [NO_KEY]
    assert len(offset_map) == len(model)


def test_a_full_map_says_how_far_it_got() -> None:
    offset_map = OffsetMap(memory_bytes=24_000)
    keys = [b"key %d" % number for number in range(2000)]
    taken = 0
    while offset_map.put_all(keys[taken : taken + 10], range(10), taken, 0):
        taken += 10
    end = offset_map.latest_offset + 1
    assert taken <= end < taken + 10
    assert len(offset_map) == end
    assert offset_map.last_offsets(keys) == [*range(end), *[NOT_FOUND] * (2000 - end)]
    # Kafka puts 900 keys into as much memory with its 24 bytes each; ours cost more at first.
    assert end >= 450


@pytest.mark.parametrize("load_factor", [0.0, -1.0, nan, 1e-300, 1.0, 1e9, inf])
@pytest.mark.parametrize("most_records", [None, 10_000])
def test_a_table_works_whatever_its_load_factor(
    load_factor: float, most_records: int | None
) -> None:
    keys = [b"%d" % number for number in range(2_000)]
    offset_map = OffsetMap(10_000, load_factor, most_records)
    for taken in range(0, 2_000, 10):
        if not offset_map.put_all(keys[taken : taken + 10], range(10), taken, 0):
            break
    end = offset_map.latest_offset + 1
    assert 0 < end < 2_000
    assert offset_map.last_offsets(keys) == [*range(end), *[NOT_FOUND] * (2_000 - end)]


def test_known_keys_still_move_in_a_map_without_room_for_more() -> None:
    offset_map = OffsetMap(memory_bytes=48)
    assert offset_map.put_all([b"a"], [0], 0, 0)
    assert offset_map.put_all([b"a", b"a"], [0, 1], 5, 0)
    assert offset_map.last_offsets([b"a"]) == [6]


@pytest.mark.parametrize("key_bytes", [16, 2000])
def test_memory_stays_within_its_bound(key_bytes: int) -> None:
    """What a dict of such keys takes, as the interpreter counts it."""
    bound = 4 << 20
    offset_map = OffsetMap(bound)
    offset = 0
    while offset_map.put_all(
        [b"%0*d" % (key_bytes, offset + number) for number in range(100)], range(100), offset, 0
    ):
        offset += 100
    kept = offset_map._last
    in_dict = sys.getsizeof(kept) + sum(
        sys.getsizeof(key) + 15 & ~15 for key in kept if key is not None
    )
    in_dict += 32 * len(kept)
    assert in_dict <= bound // 2 * 1.05
    assert len(offset_map._table._words) * 8 <= bound // 2
