"""Why a broker no longer holds the beginning of a log: by retention, or by DeleteRecords."""

from __future__ import annotations

from collections.abc import Mapping


def is_trimmed(
    config: Mapping[str, str],
    *,
    starts_within_batch: bool,
    newest_below_ms: int | None,
    now_ms: int,
) -> bool:
    """Whether retention cannot explain the log start, so that DeleteRecords moved it there.

    Retention takes whole segments, and a segment only when its newest record is older than
    `retention.ms` or the log larger than `retention.bytes`; a compacted topic without `delete` in
    its `cleanup.policy` has none. `starts_within_batch`: the first batch begins below the log
    start. `newest_below_ms`: the newest timestamp that the lake has of a record below it.
    """
    if starts_within_batch:
        return True
    if "delete" not in config.get("cleanup.policy", "delete"):
        return True
    if int(config.get("retention.bytes", -1)) >= 0:
        return False
    retention_ms = int(config.get("retention.ms", -1))
    if retention_ms < 0:
        return True
    return newest_below_ms is not None and newest_below_ms + retention_ms > now_ms
