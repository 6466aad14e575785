"""Where the programs are that Barnabas is measured against, and how a JVM is started.

`scripts/oracles` fetches the jars into `.oracles`; BARNABAS_ORACLES names another folder. A
test that needs what is not there fails in CI (the variable CI is set) and skips elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
ORACLES = Path(os.environ.get("BARNABAS_ORACLES") or ROOT / ".oracles")
STOP_TIMEOUT_SECONDS = 20
JAVA_TIMEOUT_SECONDS = 120


def require_oracle(name: str) -> Path:
    """Return the folder of an oracle ("jars-4.4.0"): without it fail in CI, skip elsewhere."""
    folder = ORACLES / name
    if not folder.is_dir():
        missing(f"{name} is not in {ORACLES.name}: run scripts/oracles")
    return folder


def require_program(name: str) -> str:
    """Return the path of a program on the machine ("java", "node"), or fail or skip as above."""
    path = shutil.which(name)
    if path is None:
        missing(f"the program {name} is not installed")
    return str(path)


def require_package(name: str) -> ModuleSpec:
    """Return what Python knows of a package ("pyspark"), or fail or skip as above."""
    spec = find_spec(name)
    if spec is None:
        missing(f"{name} is not installed: EXTRAS=[dev,test] scripts/setup")
    return spec


def missing(reason: str) -> NoReturn:
    """Fail in CI, skip elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def java_command(
    jars: Path, *program: str, heap: str = "256m", classes: Path | None = None
) -> list[str]:
    """The command line of a Java program with every jar in the folder, after `classes`, if any.

    `program` is a main class or a single source file, then its arguments. The collector and
    compiler flags keep a short-lived process quick on few cores.
    """
    flags = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    class_path = f"{jars}/*" if classes is None else f"{classes}:{jars}/*"
    return [require_program("java"), *flags, "-cp", class_path, *program]


def run_java(release: str, *program: str) -> str:
    """What a Java program prints that runs with all of Apache Kafka's jars of a release."""
    done = subprocess.run(
        java_command(require_oracle(f"jars-{release}"), *program),
        capture_output=True,
        text=True,
        timeout=JAVA_TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@contextmanager
def running(
    command: list[str], stderr: IO[bytes] | int | None = None, *, modules: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a child process with pipes for its input and output; it is gone on the way out.

    `modules` is a folder of what a Python program imports: its own is not looked into where the
    compiled package is tested (PYTHONSAFEPATH).
    """
    env = dict(os.environ)
    if modules is not None:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(modules), env.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process politely, then by force; its pipes are closed."""
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
