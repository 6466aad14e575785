"""The long form of the concurrent crash test: `scripts/crash --concurrent`.

Lives the histories of one seed after the other until the seeds or the minutes are used up, and
says of each kind of broken promise how often it was seen and under which seeds. Exit code 1 if
there is any. `--seed N --seeds 1` tells one history again, with all that led to its end.
"""

import argparse
import re
import sys
import time
import traceback
from collections import Counter

from .workload import live


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/crash --concurrent", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--seeds", type=int, default=2_000, help="how many")
    parser.add_argument("--minutes", type=float, default=60.0, help="at most")
    parser.add_argument("--operations", type=int, default=120, help="at most, in one history")
    parser.add_argument("--first", action="store_true", help="end at the first broken promise")
    chosen = parser.parse_args()
    kinds: Counter[str] = Counter()
    seeds: dict[str, list[int]] = {}
    deaths = calls = lived = 0
    end = time.monotonic() + 60 * chosen.minutes
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        if time.monotonic() > end or (chosen.first and kinds):
            break
        lived += 1
        try:
            history = live(seed, chosen.operations)
        except Exception as error:
            kind = kind_of(error)
            kinds[kind] += 1
            seeds.setdefault(kind, []).append(seed)
            if chosen.seeds == 1:
                traceback.print_exc()
        else:
            deaths += history.deaths
            calls += history.stage.steps
    for kind, count in kinds.most_common():
        print(f"{count:5} times {kind}\n      seeds {seeds[kind][:8]}")
    print(f"{lived} seeds, {deaths} deaths, {calls} file calls: {kinds.total()} broken promises")
    return 1 if kinds else 0


def kind_of(error: Exception) -> str:
    """What went wrong and where, without what differs from seed to seed."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = re.sub(r"\d+", "N", str(error))
    text = re.sub(r"(N, )+N", "N..", text)
    return f"{type(error).__name__} in {place.name}: {text[:160]}"


if __name__ == "__main__":
    sys.exit(main())
