"""Points in time as people type them, as milliseconds since 1970.

    2026-03-01, 2026-03-01T12:30, 2026-03-01T12:30:00Z, 2026-03-01T12:30:00+02:00
    now, 10m, "2h ago", @1767225600000

A time without an offset is local time.
"""

import re
import time
from datetime import datetime

from barnabas.server.cli.whole_numbers import whole_number

FORMS = "2026-03-01T12:30:00Z, 2026-03-01, 10m (ago), now, or @ and milliseconds since 1970"
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_time_ms(text: str) -> int | None:
    """The time in milliseconds since 1970, negative before it; None for what is no time."""
    text = text.strip()
    if text == "now":
        return time.time_ns() // 1_000_000
    if text.startswith("@"):
        return whole_number(text[1:])
    if ago := re.fullmatch(r"(\d+)\s*([smhdw])( ago)?", text):
        count = whole_number(ago[1])
        return None if count is None else time.time_ns() // 1_000_000 - count * _UNIT_MS[ago[2]]
    return _moment_ms(text) if re.match(r"\d{4}-\d\d-\d\d", text) else None


def _moment_ms(text: str) -> int | None:
    """Local time has no first of January of the year 1, and no last of December of 9999."""
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
