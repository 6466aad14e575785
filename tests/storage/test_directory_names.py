"""Directory names: what is a partition's, what is set aside, and how long a name may be."""

import pytest

from barnabas.storage.directory_names import (
    DELETED,
    FUTURE,
    STRAY,
    TopicPartition,
    name_with_suffix,
    parse_name,
)

UNIQUE = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "topic", "partition", "suffix"),
    [
        ("orders-0", "orders", 0, ""),
        ("a-b-12", "a-b", 12, ""),
        ("a.b-3", "a.b", 3, ""),
        ("__consumer_offsets-49", "__consumer_offsets", 49, ""),
        (f"orders-0.{UNIQUE}-delete", "orders", 0, DELETED),
        (f"a.b-c-7.{UNIQUE}-future", "a.b-c", 7, FUTURE),
        (f"orders-1.{UNIQUE}-stray", "orders", 1, STRAY),
    ],
)
def test_partition_directories(name: str, topic: str, partition: int, suffix: str) -> None:
    assert parse_name(name) == (TopicPartition(topic, partition), suffix)


@pytest.mark.parametrize(
    "name",
    ["orders", "orders-", "-1", "orders-x", "meta.properties", "", f"orders-0.{UNIQUE}-gone",
     "orders-0.123-delete", "checkpoint.tmp"],
)  # fmt: skip
def test_anything_else_is_left_alone(name: str) -> None:
    assert parse_name(name) is None


@pytest.mark.parametrize("suffix", [DELETED, FUTURE, STRAY])
def test_a_name_that_is_set_aside_is_unique_and_parsed(suffix: str) -> None:
    orders = TopicPartition("orders", 3)
    first, second = name_with_suffix(orders, suffix), name_with_suffix(orders, suffix)
    assert first != second
    assert parse_name(first) == (orders, suffix)


@pytest.mark.parametrize("suffix", [DELETED, STRAY])
def test_the_longest_topic_still_gets_a_valid_name(suffix: str) -> None:
    name = name_with_suffix(TopicPartition("t" * 249, 123456), suffix)
    assert len(name) == 255
    assert (parsed := parse_name(name)) is not None and parsed.suffix == suffix
