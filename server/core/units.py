"""Durations and sizes as people write them: "7 days", "1.5 h", "500ms", "64 MB"."""

import re

_MS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1_000,
    "sec": 1_000,
    "second": 1_000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "w": 604_800_000,
    "week": 604_800_000,
}
_TERM = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*,?", re.IGNORECASE)


def parse_jump_ms(text: str) -> float:
    """Milliseconds in a duration that may go back, as "-1 day"; ValueError when it is none."""
    forward = text.strip().removeprefix("-")
    ms = parse_duration_ms(forward)
    return -ms if forward != text.strip() else ms


def parse_duration_ms(text: str) -> float:
    """Milliseconds in e.g. "2 days", "1h 30m" or "250 ms"; ValueError when it is none."""
    total_ms, position = 0.0, 0
    while position < len(text) and (term := _TERM.match(text, position)):
        unit = term[2].lower()
        unit_ms = _MS.get(unit) or _MS.get(unit.removesuffix("s"))
        if unit_ms is None:
            break
        total_ms += float(term[1]) * unit_ms
        position = term.end()
    if not text.strip() or position < len(text):
        raise ValueError(f"{text!r} is no duration; write it like 7 days, 1h 30m or 250 ms")
    return total_ms
