"""Ids print and read as Kafka prints and reads them."""

from __future__ import annotations

import pytest

from barnabas.wire.uuids import ZERO_UUID, Uuid


def test_base64url_without_padding() -> None:
    assert str(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert str(Uuid(b"\xfb\xff" * 8)) == "-__7__v_-__7__v_-__7_w"
    assert repr(ZERO_UUID) == "Uuid('AAAAAAAAAAAAAAAAAAAAAA')"


def test_there_and_back() -> None:
    for value in (ZERO_UUID, Uuid(range(16)), Uuid(b"\xff" * 16)):
        assert Uuid.from_text(str(value)) == value
        assert len(str(value)) == 22


def test_the_most_and_least_significant_halves_are_big_endian() -> None:
    """Kafka's Uuid(0, 1) is METADATA_TOPIC_ID."""
    assert Uuid.from_text("AAAAAAAAAAAAAAAAAAAAAQ") == bytes(15) + b"\x01"


@pytest.mark.parametrize("text", ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAA"])
def test_text_that_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="an id has 16"):
        Uuid.from_text(text)


def test_an_id_is_its_bytes() -> None:
    assert {ZERO_UUID: 1}[Uuid(bytes(16))] == 1
    assert ZERO_UUID == bytes(16)
