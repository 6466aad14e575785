"""Runs a benchmark by name: `scripts/bench kafka`.

A benchmark is a file `bench_<name>.py` in this folder with a `main(arguments)`; the files
beside them are what benchmarks share.
"""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in names():
        print(f"usage: scripts/bench {'|'.join(names())} [--help]", file=sys.stderr)
        return 2
    benchmark = import_module(f"bench_{arguments[0]}")
    return int(benchmark.main(arguments[1:]) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
