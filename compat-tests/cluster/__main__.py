"""`scripts/nothing-lost`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import cluster
from cluster.nodes import KINDS
from cluster.result import Result, side_by_side
from cluster.run import Plan, run

BROKERS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/nothing-lost", description=cluster.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=60, help="records a second of each producer")
    parser.add_argument(
        "--brokers",
        default="barnabas,3.9.1",
        help="what runs, one after the other: of "
        f"{', '.join(KINDS)}; a mixed cluster as barnabas+3.9.1+3.9.1",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of every broker: min.insync.replicas=1 with"
        " unclean.leader.election.enable=true loses records, and the checker has to find them",
    )
    parser.add_argument(
        "--roll",
        default="",
        metavar="KIND,…",
        help="instead of trouble: in so many rounds every broker is replaced by one of that kind,"
        " with its id and its data directory",
    )
    parser.add_argument("--kill", action="store_true", help="replaced ones do not stop: kill -9")
    parser.add_argument("--calm", action="store_true", help="nothing goes wrong")
    parser.add_argument("--keep", type=Path, help="leave everything in this folder")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="nothing-lost-"))
    results: list[Result] = []
    for number, name in enumerate(options.brokers.split(",")):
        kinds = name.split("+") if "+" in name else [name] * BROKERS
        settings = dict(each.split("=", 1) for each in options.set)
        seconds = options.minutes * 60
        rolls = [
            (broker, kind)
            for kind in filter(None, options.roll.split(","))
            for broker in range(1, len(kinds) + 1)
        ]
        plan = Plan(
            kinds, seconds, options.seed, options.rate, options.calm, settings, rolls, options.kill
        )
        results.append(run(plan, folder / f"{number}-{name}"))
        print(f"{name}: {'good' if results[-1].is_good else 'NOT GOOD'}", file=sys.stderr)
    print(side_by_side(results))
    is_good = all(result.is_good for result in results)
    if is_good and not options.keep:
        shutil.rmtree(folder)
    else:
        print(f"left in {folder}", file=sys.stderr)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
