"""A secret prints as its size."""

from __future__ import annotations

from barnabas.wire.redact import redacted


def test_size_and_nothing_else() -> None:
    assert redacted(b"hunter2") == "<redacted, 7 bytes>"
    assert redacted("hunter2") == "<redacted, 7 characters>"
    assert redacted(["hunter2"]) == "<redacted>"


def test_what_is_not_there_is_no_secret() -> None:
    assert redacted(None) == "None"
    assert redacted("") == "''"
    assert redacted(b"") == "b''"
