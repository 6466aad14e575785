import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.errors import CorruptSnapshot
from barnabas.storage.producers.entry import ProducerEntry
from barnabas.storage.producers.snapshot import build_snapshot, parse_snapshot, table_size

INT64 = st.integers(-1, (1 << 63) - 1)
INT32 = st.integers(-1, (1 << 31) - 1)
ENTRIES = st.builds(
    ProducerEntry,
    producer_id=st.integers(0, (1 << 63) - 1),
    epoch=st.integers(-1, 0x7FFF),
    coordinator_epoch=INT32,
    last_timestamp=INT64,
    current_transaction_first_offset=INT64,
    batches=st.just([]),
)
ONE = ProducerEntry(1000, 2, 5, 1_700_000_000_000, -1, [(9, 104, 4, 1_700_000_000_000)])


def test_the_bytes_field_by_field() -> None:
    data = build_snapshot([ONE])
    assert data[:2] == b"\0\1"
    assert data[2:6] == crc32c(data[6:]).to_bytes(4)
    assert data[6:10] == b"\0\0\0\1"
    assert data[10:] == bytes.fromhex(
        "00000000000003e8 0002 00000009 0000000000000068 00000004"
        "0000018bcfe56800 00000005 ffffffffffffffff"
    )


@given(st.lists(ENTRIES, unique_by=lambda entry: entry.producer_id, max_size=40))
def test_the_way_there_and_back(entries: list[ProducerEntry]) -> None:
    parsed = parse_snapshot(build_snapshot(entries))
    by_id = {entry.producer_id: entry for entry in entries}
    assert {entry.producer_id: entry for entry in parsed} == by_id


def test_only_the_last_batch_is_kept() -> None:
    entry = ProducerEntry(1, 0)
    for number in range(3):
        entry.add_batch(0, number, number, number, 50)
    (parsed,) = parse_snapshot(build_snapshot([entry]))
    assert parsed.batches == [(2, 2, 0, 50)]


def test_producers_stand_in_the_order_of_javas_hash_map() -> None:
    # Buckets of a table of 16: 17 and 1 share bucket 1, 1 << 32 falls into 1 as well.
    ids = [17, 5, 1, 16, 1 << 32, 0]
    parsed = parse_snapshot(build_snapshot([ProducerEntry(each) for each in ids]))
    assert [entry.producer_id for entry in parsed] == [16, 0, 17, 1, 1 << 32, 5]


@pytest.mark.parametrize(("count", "buckets"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64)])
def test_the_table_doubles_above_three_quarters(count: int, buckets: int) -> None:
    assert table_size(count) == buckets
    assert table_size(count, 64) == 64


def test_every_damage_is_noticed() -> None:
    data = build_snapshot([ONE, ProducerEntry(1001)])
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptSnapshot):
            parse_snapshot(bytes(damaged))
        with pytest.raises(CorruptSnapshot):
            parse_snapshot(data[:position])
    with pytest.raises(CorruptSnapshot):
        parse_snapshot(data + b"\0")
