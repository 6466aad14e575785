"""Java's String.hashCode and Kafka's Utils.abs of it, by values that these give."""

import sys

import pytest

from barnabas.server.coordinators.partitioning import (
    LONGEST_KEPT,
    java_hash,
    partition_for,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("consumer-group", 1_738_392_088),  # hashCode is negative
        ("writer-librdkafka-1", 1_691_928_819),  # and here: 4 partitions tell the two apart
        ("polygenelubricants", 0),  # hashCode is the smallest int
        ("größe", 98_762_257),
        ("日本語", 25_921_943),
        ("\U0001f600", 1_772_899),  # two UTF-16 units
    ],
)
def test_hash_codes(text: str, expected: int) -> None:
    assert java_hash(text) == expected


@pytest.mark.parametrize("length", [LONGEST_KEPT, LONGEST_KEPT + 1])
def test_long_names_are_not_kept_for_ever(length: int) -> None:
    """A request may ask for thousands of 32 KB each."""
    name = "x" * length
    before = sys.getrefcount(name)
    assert java_hash(name) == java_hash("x" * length)
    assert (sys.getrefcount(name) > before) is (length <= LONGEST_KEPT)


def test_groups_spread_over_the_partitions() -> None:
    assert partition_for("consumer-group", 50) == 1_738_392_088 % 50
    assert partition_for("writer-librdkafka-1", 4) == 3
    assert {partition_for(f"group-{n}", 50) for n in range(2_000)} == set(range(50))
