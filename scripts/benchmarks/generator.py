"""The load generator in Go (`loadgen/`), built once and run as a child process.

A generator in Python would be the bottleneck of everything that is measured here. It answers
with one line of JSON: requests, records, bytes, seconds, rates and latencies.
"""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent / "loadgen"


class GeneratorError(Exception):
    """The load generator could not be built, or the broker answered it with an error."""


@cache
def binary() -> Path:
    """The built program; building again what is built already takes Go a moment only."""
    go = shutil.which("go")
    if go is None:
        raise GeneratorError("the load generator needs Go 1.22 or later on the path")
    target = ROOT / "build" / "bench" / "loadgen"
    target.parent.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(
        [go, "build", "-o", str(target), "."], cwd=SOURCE, capture_output=True, text=True
    )
    if built.returncode != 0:
        raise GeneratorError(f"go build failed: {built.stderr.strip()}")
    return target


def run(mode: str, address: str, topic: str, **options: float | bool) -> dict[str, float]:
    """One run; options are loadgen's flags with _ for -, for example max_bytes=65536."""
    flags = [f"-{name.replace('_', '-')}={_flag(value)}" for name, value in options.items()]
    command = [str(binary()), mode, f"-address={address}", f"-topic={topic}", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise GeneratorError(f"{mode}: {done.stderr.strip()}")
    report: dict[str, float] = json.loads(done.stdout)
    return report


def _flag(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
