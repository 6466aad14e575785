"""Warnings that somebody outside could cause without end: each said once in a while.

What is said again within a minute is counted, and the count stands in the next line. Of the
different ones some hundred are told apart.
"""

import re
from collections.abc import Callable
from typing import Final

from barnabas.server.observing.logs import Log

AGAIN_AFTER_MS: Final = 60_000.0
MOST_TOLD_APART: Final = 100
_NUMBERS: Final = re.compile(r"\d+")


class RareWarnings:
    """What of one log was warned of lately."""

    def __init__(self, log: Log, monotonic_ms: Callable[[], float]) -> None:
        self._log = log
        self._monotonic_ms = monotonic_ms
        self._said: dict[tuple[str, str], list[float]] = {}  # [said at, how often left out since]

    def warn(self, message: str, who: str, reason: str, **facts: object) -> None:
        """Say it, unless the same, but for numbers, was said of the same client lately."""
        now_ms = self._monotonic_ms()
        key = (who, _NUMBERS.sub("", reason))
        said = self._said.get(key)
        if said is not None and now_ms - said[0] < AGAIN_AFTER_MS:
            said[1] += 1
            return
        if said is None and not self._has_room(now_ms):
            return
        if said is not None and said[1]:
            facts["left_out"] = int(said[1])
        self._said[key] = [now_ms, 0]
        self._log.warn(message, reason=reason, **facts)

    def _has_room(self, now_ms: float) -> bool:
        if len(self._said) >= MOST_TOLD_APART:
            self._said = {
                key: said for key, said in self._said.items() if now_ms - said[0] < AGAIN_AFTER_MS
            }
        return len(self._said) < MOST_TOLD_APART
