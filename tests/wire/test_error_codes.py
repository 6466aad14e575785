"""Error codes; compat-tests/wire/test_tables.py holds all of them against Kafka's own."""

from __future__ import annotations

from barnabas.wire.error_codes import RETRIABLE, ErrorCode


def test_codes_have_no_gap() -> None:
    assert list(ErrorCode) == list(range(-1, 137))


def test_names_and_numbers() -> None:
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode(35).name == "UNSUPPORTED_VERSION"
    assert int(ErrorCode.UNKNOWN_SERVER_ERROR) == -1


def test_which_a_client_tries_again() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.is_retriable
    assert not ErrorCode.NONE.is_retriable
    assert not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.is_retriable
    assert {code for code in ErrorCode if code.is_retriable} == RETRIABLE
