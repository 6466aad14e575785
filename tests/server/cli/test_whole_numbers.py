"""Whole numbers as people type them: digits of ASCII, as many as Kafka has room for."""

import pytest

from barnabas.server.cli.connection import addresses
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import parsed_place
from barnabas.server.cli.reassignment_plan import parse_brokers
from barnabas.server.cli.whole_numbers import signed_number, whole_number

FIVE_THOUSAND = "1" * 5000  # int() refuses so many


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", None),
        ("²", None),
        ("٣", None),
        ("", None),
        ("-1", None),
        ("1_0", None),
        (FIVE_THOUSAND, None),
    ],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(("text", "number"), [("-3", -3), ("3", 3), ("--3", None), ("-", None)])
def test_signed_numbers(text: str, number: int | None) -> None:
    assert signed_number(text) == number


@pytest.mark.parametrize("number", ["²", FIVE_THOUSAND])
def test_what_only_looks_like_a_number_is_refused_in_words(number: str) -> None:
    for parse in (
        lambda: addresses(f"localhost:{number}"),
        lambda: parsed_place(f"orders:{number}"),
        lambda: parse_brokers(number),
    ):
        with pytest.raises(BadInput):
            parse()
