"""Error codes and header versions are those of Kafka's own tables, in both releases."""

from __future__ import annotations

from pathlib import Path

import apache
import pytest
from oracles import run_java

from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.header import request_header_version, response_header_version

SOURCE = Path(__file__).with_name("Tables.java")
OLDER, NEWER = apache.RELEASES
Lines = list[list[str]]


@pytest.fixture(scope="module")
def tables() -> dict[str, Lines]:
    """The lines of Tables.java, in words, by release."""
    return {release: lines(release) for release in apache.RELEASES}


def lines(release: str) -> Lines:
    return [line.split() for line in run_java(release, str(SOURCE)).splitlines()]


def errors(table: Lines) -> set[tuple[int, str, bool]]:
    return {(int(code), name, word == "true") for kind, code, name, word in rows(table, "error")}


def headers(table: Lines) -> dict[tuple[int, int], tuple[int, int]]:
    return {
        (int(key), int(version)): (int(request), int(response))
        for kind, key, version, request, response in rows(table, "header")
    }


def rows(table: Lines, kind: str) -> Lines:
    return [line for line in table if line[0] == kind]


def test_error_codes(tables: dict[str, Lines]) -> None:
    ours = {(int(code), code.name, code.is_retriable) for code in ErrorCode}
    assert errors(tables[NEWER]) == ours
    assert errors(tables[OLDER]) < ours


def test_header_versions(tables: dict[str, Lines]) -> None:
    theirs = headers(tables[OLDER]) | headers(tables[NEWER])
    ours = {(int(key), version) for key in ApiKey for version in request_class(key).VERSIONS}
    assert theirs.keys() == ours
    assert theirs == {
        at: (request_header_version(*at), response_header_version(*at)) for at in ours
    }
