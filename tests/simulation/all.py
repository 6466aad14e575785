"""Thousands of histories: `scripts/simulate`.

Runs the histories of one seed after the other, in two processes, until the seeds or the minutes are
used up. Says for each that ended badly what is wrong, and the command that repeats it; exit code 1
if there is any. With one seed: all that was done to the cluster as well. `--plant` puts a known
fault in first, for which histories are to end badly.
"""

import argparse
import faulthandler
import logging
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

from .planted import PLANTS
from .simulated import Outcome, simulate

LONGEST_S = 300
"""Of one history, which takes half a second; then it is an endless loop, and is shown."""
MOST_TOLD = 5
TELL_EVERY = 100
SEEDS_PER_POOL = 1_000
"""Then there are new processes. `max_tasks_per_child` hung when both had done their share: Python
3.11 may wait for a process that has ended (gh-115634)."""
BY_NAME = {plant.__name__: plant for plant in PLANTS}


class Tally:
    """How histories have ended so far."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._chosen = chosen
        self._began_s = time.monotonic()
        self.run = self.bad = 0

    @property
    def minutes(self) -> float:
        """Since it began."""
        return (time.monotonic() - self._began_s) / 60

    def count(self, outcome: Outcome) -> None:
        """One more; what is wrong with it is said."""
        self.run += 1
        if outcome.faults:
            self.bad += 1
            tell(outcome, self._chosen.plant)
        if self._chosen.seeds == 1:
            print("\n".join(outcome.log), outcome.digest, sep="\n")
        elif self.run % TELL_EVERY == 0:
            print(self, file=sys.stderr, flush=True)

    def __str__(self) -> str:
        per_minute = self.run / self.minutes
        return f"{self.run} histories, {per_minute:.0f} a minute: {self.bad} ended badly"


def main() -> int:
    chosen = arguments()
    tally = Tally(chosen)
    seeds = range(chosen.seed, chosen.seed + chosen.seeds)
    for first in range(0, len(seeds), SEEDS_PER_POOL):
        if not run(chosen, tally, seeds[first : first + SEEDS_PER_POOL]):
            break
    print(tally)
    return 1 if tally.bad else 0


def run(chosen: argparse.Namespace, tally: Tally, seeds: range) -> bool:
    """The histories of these seeds; whether to go on."""
    before = tally.run
    with ProcessPoolExecutor(
        chosen.processes, multiprocessing.get_context("spawn"), prepared, (chosen.plant,)
    ) as pool:
        try:
            for outcome in pool.map(bounded, seeds):
                tally.count(outcome)
                if tally.minutes > chosen.minutes:
                    return False
        except BrokenProcessPool:
            tally.bad += 1
            seed = seeds[tally.run - before]
            print(f"seed {seed}, or one soon after, does not end: see above")
            return False
        finally:
            pool.shutdown(cancel_futures=True)
    return True


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--seeds", type=int, default=10_000, help="how many")
    parser.add_argument("--minutes", type=float, default=600.0, help="at most")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--plant", choices=sorted(BY_NAME), help="a fault to be found")
    return parser.parse_args()


def prepared(plant: str | None) -> None:
    """Set a process up. What brokers find on their disks after a crash is not told."""
    logging.disable(logging.WARNING)
    if plant is not None:
        BY_NAME[plant](pytest.MonkeyPatch())


def bounded(seed: int) -> Outcome:
    """One history, which cannot take for ever."""
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    try:
        return simulate(seed)
    finally:
        faulthandler.cancel_dump_traceback_later()


def tell(outcome: Outcome, plant: str | None) -> None:
    """Say how a history ended, and how to have it again."""
    planted = "" if plant is None else f" --plant {plant}"
    print(f"seed {outcome.seed}: scripts/simulate --seed {outcome.seed} --seeds 1{planted}")
    for fault in outcome.faults[:MOST_TOLD]:
        print(f"    {fault}")
    if (more := len(outcome.faults) - MOST_TOLD) > 0:
        print(f"    and {more} more")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
