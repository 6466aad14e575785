"""Retention or DeleteRecords: which of them moved the log start."""

from __future__ import annotations

from barnabas.pipeline.audit.letting_go import is_trimmed

NOW_MS = 1_000_000_000
WEEK = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}


def trimmed(config: dict[str, str], newest: int | None = None, *, within: bool = False) -> bool:
    return is_trimmed(config, starts_within_batch=within, newest_below_ms=newest, now_ms=NOW_MS)


def test_a_log_that_begins_within_a_batch_was_cut_by_deleterecords() -> None:
    assert trimmed(WEEK, within=True)


def test_retention_explains_what_is_old_enough() -> None:
    assert not trimmed(WEEK, NOW_MS - 604_800_001)
    assert trimmed(WEEK, NOW_MS - 604_799_999)


def test_retention_is_believed_where_no_time_is_known() -> None:
    assert not trimmed(WEEK)


def test_a_limit_by_size_explains_any_time() -> None:
    assert not trimmed(WEEK | {"retention.bytes": "1000"}, NOW_MS)


def test_without_retention_only_deleterecords_is_left() -> None:
    assert trimmed({"retention.ms": "-1", "retention.bytes": "-1"})
    assert trimmed(WEEK | {"cleanup.policy": "compact"})
    assert not trimmed(WEEK | {"cleanup.policy": "compact,delete"})
