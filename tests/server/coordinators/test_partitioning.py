"""Java's String.hashCode, by values that Java gives."""

import pytest

from barnabas.server.coordinators.partitioning import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("consumer-group", 409_091_560),
        ("polygenelubricants", 0),  # hashCode is the smallest int
        ("größe", 98_762_257),
        ("日本語", 25_921_943),
        ("\U0001f600", 1_772_899),  # two UTF-16 units
    ],
)
def test_hash_codes(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_groups_spread_over_the_partitions() -> None:
    assert partition_for("consumer-group", 50) == 409_091_560 % 50
    assert {partition_for(f"group-{n}", 50) for n in range(2_000)} == set(range(50))
