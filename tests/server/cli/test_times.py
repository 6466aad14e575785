"""Points in time as people type them."""

import time

import pytest

from barnabas.server.cli.times import parse_time_ms


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01 00:00:00.250+00:00", 250),
        ("@1234", 1234),
        ("soon", None),
        ("2026", None),
        ("2026-02-30", None),
        ("10", None),
        ("10 lightyears", None),
        ("", None),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-01-01", None),
        ("@9223372036854775808", None),
        ("@" + "1" * 5000, None),
        ("1" * 5000 + "d", None),
    ],
)
def test_times(text: str, time_ms: int | None) -> None:
    assert parse_time_ms(text) == time_ms


@pytest.mark.parametrize(
    ("text", "age_ms"),
    [("now", 0), ("30s", 30_000), ("10m", 600_000), ("2h ago", 7_200_000), ("1 d", 86_400_000)],
)
def test_times_before_now(text: str, age_ms: int) -> None:
    parsed = parse_time_ms(text)
    assert parsed is not None
    assert abs(time.time() * 1000 - age_ms - parsed) < 5000
