"""Scanning records beside decoding them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.records import append_record, walk_frames
from barnabas.storage.compaction.key_scan import scan_records
from barnabas.storage.errors import CorruptBatch

OPTIONAL = st.one_of(st.none(), st.binary(max_size=5), st.binary(min_size=60, max_size=300))
RECORDS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        OPTIONAL,
        OPTIONAL,
        st.lists(st.tuples(st.text(max_size=5), OPTIONAL), max_size=2),
    ),
    max_size=20,
)
Given = list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]


def build(records: Given, step: int) -> bytes:
    data = bytearray()
    for number, (time, key, value, headers) in enumerate(records):
        append_record(data, number * step, time, key, value, headers)
    return bytes(data)


@given(RECORDS, st.sampled_from([1, 70, 10_000]), st.binary(max_size=3))
def test_it_finds_what_walking_finds(records: Given, step: int, before: bytes) -> None:
    data = build(records, step)
    frames = list(walk_frames(data, len(records)))
    shift = len(before)
    found = scan_records(before + data, shift, shift + len(data), len(records))
    assert found.keys == [key for _, key, _, _ in records]
    assert found.deltas == [frame[3] for frame in frames]
    assert found.ends == [frame[1] + shift for frame in frames]
    assert found.tombstones == [n for n, (_, _, value, _) in enumerate(records) if value is None]


@given(RECORDS.filter(bool), st.data())
def test_damage_is_refused_or_harmless(records: Given, data: st.DataObject) -> None:
    """No CRC stands before this function in a test: whatever comes, it ends, or says so."""
    damaged = bytearray(build(records, 1))
    position = data.draw(st.integers(0, len(damaged) - 1))
    damaged[position] ^= data.draw(st.integers(1, 255))
    try:
        found = scan_records(bytes(damaged), 0, len(damaged), len(records))
    except CorruptBatch:
        return
    assert len(found.keys) == len(found.ends) == len(records)
    assert found.ends[-1] == len(damaged)


@pytest.mark.parametrize("count", [1, 3])
def test_a_wrong_count_is_refused(count: int) -> None:
    data = build([(0, b"k", b"v", [])] * 2, 1)
    with pytest.raises(CorruptBatch):
        scan_records(data, 0, len(data), count)
