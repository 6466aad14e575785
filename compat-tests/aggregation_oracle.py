"""What an aggregation has to give, by plain Python over the records of its topic.

Which record came in which batch, and what the watermark was then, is read in Spark's checkpoint:
`offsets/<batch>` is three lines: a version, the watermark and settings, the end of each partition.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

WINDOW_MS = 5 * 60_000
SESSION_GAP_MS = 30 * 60_000
DAY_S = 86_400
KINDS = ("page_view", "search", "sign_in")

Window = tuple[int, str, bool]  # start, kind, is_bot
Session = tuple[int, int, str, bool, int, int, int]  # start, end, user, is_bot, by kind
Event = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class Batch:
    """A micro-batch: events at or before `late_ms` are late in it; the ends of its partitions."""

    late_ms: int
    ends: dict[int, int]


@dataclass
class Expected:
    """What is to be found."""

    late: int = 0
    duplicates: int = 0
    unreadable: int = 0
    ahead: int = 0
    windows: Counter[Window] = field(default_factory=Counter)
    sessions: set[Session] = field(default_factory=set)


def batches_of(query: Path, topic: str) -> tuple[list[Batch], int]:
    """The batches of a checkpoint, and the watermark that closed windows in the last one (ms)."""
    found, late_ms, watermark_ms = [], 0, 0
    files = [path for path in (query / "offsets").iterdir() if path.name.isdigit()]
    for path in sorted(files, key=lambda path: int(path.name)):
        _, settings, source = path.read_text().splitlines()[:3]
        late_ms, watermark_ms = watermark_ms, json.loads(settings)["batchWatermarkMs"]
        ends = {int(part): end for part, end in json.loads(source)[topic].items()}
        found.append(Batch(late_ms, ends))
    return found, watermark_ms


def expected(
    values: Sequence[Sequence[bytes]], batches: Sequence[Batch], watermark_ms: int
) -> Expected:
    """The results over the records' values by partition; the closed windows and sessions only."""
    result = Expected()
    accepted = list(_accepted(values, batches, result))
    for time_ms, event in accepted:
        start = time_ms // WINDOW_MS * WINDOW_MS
        if start + WINDOW_MS <= watermark_ms:
            result.windows[start, event["kind"], event["is_bot"]] += 1
    result.sessions = {s for s in _sessions(accepted) if s[1] <= watermark_ms}
    return result


def _accepted(
    values: Sequence[Sequence[bytes]], batches: Sequence[Batch], result: Expected
) -> Iterator[Event]:
    seen: set[str] = set()
    starts = dict.fromkeys(range(len(values)), 0)
    for batch in batches:
        for partition, end in batch.ends.items():
            for value in values[partition][starts[partition] : end]:
                event = _event(value)
                if event is None:
                    result.unreadable += 1
                elif event[0] > (time.time() + DAY_S) * 1000:
                    result.ahead += 1
                elif event[0] <= batch.late_ms:
                    result.late += 1
                elif event[1]["event_id"] in seen:
                    result.duplicates += 1
                else:
                    seen.add(event[1]["event_id"])
                    yield event
            starts[partition] = end


def _event(value: bytes) -> Event | None:
    try:
        event = json.loads(value)
        moment = datetime.fromisoformat(event["event_time"]).astimezone(UTC)
    except (ValueError, KeyError, TypeError):
        return None
    return round(moment.timestamp() * 1000), event


def _sessions(events: Sequence[Event]) -> Iterator[Session]:
    by_user = defaultdict(list)
    for time_ms, event in events:
        by_user[event["user_id"], event["is_bot"]].append((time_ms, event["kind"]))
    for (user, is_bot), found in by_user.items():
        found.sort()
        run: list[tuple[int, str]] = []
        for time_ms, kind in found:
            if run and time_ms > run[-1][0] + SESSION_GAP_MS:
                yield _session(user, is_bot, run)
                run = []
            run.append((time_ms, kind))
        yield _session(user, is_bot, run)


def _session(user: str, is_bot: bool, run: Sequence[tuple[int, str]]) -> Session:
    counts = Counter(kind for _, kind in run)
    views, searches, sign_ins = (counts[kind] for kind in KINDS)
    return (run[0][0], run[-1][0] + SESSION_GAP_MS, user, is_bot, views, searches, sign_ins)
