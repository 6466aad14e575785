"""The long form of the model test of transactions: `scripts/crash --transactions`.

Lives the histories of one seed after the other until the seeds or the minutes are used up, and
says of each kind of broken promise how often it was seen and under which seeds. Exit code 1 if
there is any. `--seed N --seeds 1` tells what led to its end.
"""

import argparse
import re
import sys
import time
import traceback
from collections import Counter

from .workload import live


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/crash --transactions", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--seeds", type=int, default=5_000, help="how many")
    parser.add_argument("--minutes", type=float, default=60.0, help="at most")
    parser.add_argument("--steps", type=int, default=80, help="of one history")
    chosen = parser.parse_args()
    kinds: Counter[str] = Counter()
    seeds: dict[str, list[int]] = {}
    lived = crashes = records = 0
    end = time.monotonic() + 60 * chosen.minutes
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        if time.monotonic() > end:
            break
        lived += 1
        try:
            history = live(seed, chosen.steps)
        except Exception as error:
            kind = re.sub(r"\d+", "N", f"{type(error).__name__}: {error}")[:160]
            kinds[kind] += 1
            seeds.setdefault(kind, []).append(seed)
            if chosen.seeds == 1:
                traceback.print_exc()
        else:
            crashes += history.crashes
            records += history.values
    for kind, count in kinds.most_common():
        print(f"{count:5} times {kind}\n      seeds {seeds[kind][:8]}")
    print(f"{lived} seeds, {crashes} crashes, {records} records: {kinds.total()} broken promises")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
