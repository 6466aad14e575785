"""docs/compatibility.md is what the tables say."""

from __future__ import annotations

from pathlib import Path

from documents.compatibility import render

from barnabas.server.handlers import HANDLERS
from barnabas.wire.api import ApiKey, api_name, request_class

DOCUMENT = Path(__file__).parents[2] / "docs" / "compatibility.md"


def row(key: ApiKey) -> list[str]:
    """The cells of an API's line."""
    lines = [line for line in render().splitlines() if line.startswith(f"| {int(key)} | ")]
    assert len(lines) == 1, key
    return [cell.strip() for cell in lines[0].strip("|").split("|")]


def test_the_document_is_fresh() -> None:
    assert DOCUMENT.read_text() == render(), "run scripts/docs"


def test_every_api_has_one_line() -> None:
    assert [row(key)[1] for key in ApiKey] == [api_name(key) for key in ApiKey]


def test_what_is_served_is_defined() -> None:
    for key, versions in HANDLERS.items():
        assert {versions.first, versions.last} <= set(request_class(key).VERSIONS), key


def test_lines_say_what_is_defined_and_what_is_served() -> None:
    assert row(ApiKey.PRODUCE)[2:5] == ["0-13", "0-11", "3-13"]
    assert row(ApiKey.LEADER_AND_ISR)[4] == ""
    assert row(ApiKey.SASL_HANDSHAKE)[5] == "0-1"
