"""`scripts/exactly-once`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import exactly_once
from exactly_once.workload import Plan, judge, run

BROKERS = ["barnabas", "barnabas-4.4", "3.9.1", "4.4.0"]
"""The second is Barnabas with transactions of version 2, as Apache Kafka 4 has them."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/exactly-once", description=exactly_once.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", choices=BROKERS, default="barnabas")
    parser.add_argument("--calm", action="store_true", help="nothing goes wrong")
    parser.add_argument("--keep", type=Path, help="leave everything in this folder")
    parser.add_argument("--judge", type=Path, help="run nothing: the verdict over such a folder")
    options = parser.parse_args()
    if options.judge:
        result = judge(options.judge)
    else:
        folder = options.keep or Path(tempfile.mkdtemp(prefix="exactly-once-"))
        plan = Plan(options.broker, options.minutes * 60, options.seed, calm=options.calm)
        result = run(plan, folder)
        if not options.keep and result.is_good:
            shutil.rmtree(folder)
        elif not result.is_good:
            print(f"left in {folder}", file=sys.stderr)
    print(result)
    return 0 if result.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
