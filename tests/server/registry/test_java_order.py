"""Hash table orders; the many cases are in compat-tests/registry, against Java itself."""

import pytest

from barnabas.server.registry.java_order import java_hash, properties_order, scala_hash_map_order


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", 1 << 31),
        ("\U0001f600", 1772899),
    ],
)
def test_the_hash_of_a_java_string(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_scala_doubles_its_table_at_the_twelfth_key() -> None:
    eleven = list(map(str, range(11)))
    assert scala_hash_map_order(eleven) == eleven
    assert scala_hash_map_order([*eleven, "11"]) == ["11", *eleven]


def test_properties_keep_a_bucket_in_the_order_of_arrival() -> None:
    assert properties_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert properties_order(["BB", "Aa"]) == ["BB", "Aa"]
    assert properties_order(["cleanup.policy", "compression.type"]) == [
        "compression.type",
        "cleanup.policy",
    ]


def test_every_key_is_listed_once() -> None:
    keys = [f"key.{number}" for number in range(200)]
    assert sorted(properties_order(keys)) == sorted(scala_hash_map_order(keys)) == sorted(keys)
