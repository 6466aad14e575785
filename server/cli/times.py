"""Points in time as people type them, as milliseconds since 1970.

    2026-03-01, 2026-03-01T12:30, 2026-03-01T12:30:00Z, 2026-03-01T12:30:00+02:00
    now, 10m, "2h ago", @1767225600000

A time without an offset is local time.
"""

import re
import time
from datetime import datetime

FORMS = "2026-03-01T12:30:00Z, 2026-03-01, 10m (ago), now, or @ and milliseconds since 1970"
_UNIT_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_time_ms(text: str) -> int | None:
    """The time in milliseconds since 1970; None for what is no time."""
    text = text.strip()
    if text == "now":
        return time.time_ns() // 1_000_000
    if re.fullmatch(r"@\d+", text):
        return int(text[1:])
    if ago := re.fullmatch(r"(\d+)\s*([smhdw])( ago)?", text):
        return time.time_ns() // 1_000_000 - int(ago[1]) * _UNIT_MS[ago[2]]
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return round(moment.timestamp() * 1000)
