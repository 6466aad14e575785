"""A rate that is kept: so many records a second and no more."""

import re
import time
from collections.abc import Callable

from barnabas.pipeline.spark.failures import PipelineError

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_rate(text: str) -> float:
    """`500/s`, `500` or `0.5/s`, `30/m`, `10/h` as records per second."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/([smh]))?", text.strip())
    if found is None or float(found[1]) <= 0:
        raise PipelineError(f"--rate {text}: it has to be records a second, such as 500/s")
    return float(found[1]) / SECONDS[found[2] or "s"]


class Pace:
    """Lets so many records a second through; without a rate, all of them at once.

    It is waited before records are written, never between the beginning and the end of a
    transaction: no rate is too slow for `transaction.timeout.ms`.
    """

    def __init__(
        self,
        per_second: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = per_second
        self._clock, self._sleep = clock, sleep
        self._free_at = clock()

    @property
    def at_once(self) -> int | None:
        """How many records are written at once: what a second lets through, at least one."""
        return None if self._per_second is None else max(1, int(self._per_second))

    def wait(self, count: int) -> None:
        """Return when so many records more may be written."""
        if self._per_second is None or not count:
            return
        now = self._clock()
        if self._free_at > now:
            self._sleep(self._free_at - now)
        # What was not used while there was nothing to write is not made up for.
        self._free_at = max(self._free_at, now) + count / self._per_second
