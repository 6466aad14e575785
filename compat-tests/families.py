"""The client families: how each program is built and started, and what its client lacks.

Builds go into `<family>/target` (git-ignored) once per content of their inputs, under a lock,
so that parallel test processes share them.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from oracles import missing

HERE = Path(__file__).resolve().parent
BUILD_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Launch:
    """How a built program is started; a command of the contract follows."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """One client library. `lacks` maps a feature the tests ask for to why it is not there."""

    name: str
    build: Callable[[], Launch]
    lacks: Mapping[str, str] = field(default_factory=dict)


def skip_where_lacking(family: Family, *features: str) -> None:
    """Skip the running test, with the table's reason, when the client lacks a feature."""
    for feature in features:
        if feature in family.lacks:
            pytest.skip(f"{family.name}: {family.lacks[feature]}")


def built(folder: Path, key: str, inputs: Iterable[str], make: Callable[[Path], None]) -> Path:
    """Return `folder/target/key`, made by `make` unless it is there for the same inputs."""
    digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]
    target = folder / "target" / key
    stamp = target / ".built"
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.is_file() and stamp.read_text() == digest):
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            make(target)
            stamp.write_text(digest)
    return target


def run_build(command: list[str], folder: Path = HERE) -> None:
    """Run one step of a build; its output is the failure's message."""
    if shutil.which(command[0]) is None:
        missing(f"the program {command[0]} is not installed")
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_TIMEOUT_SECONDS,
        cwd=folder,
    )
    if done.returncode:
        missing(f"{' '.join(command[:3])} … failed:\n{done.stdout[-4000:]}")


def python_family(name: str, lacks: Mapping[str, str] | None = None) -> Family:
    """A program that runs in this interpreter's environment, or beside its requirements.txt."""
    folder = HERE / name

    def launch() -> Launch:
        path = [str(HERE)]
        requirements = folder / "requirements.txt"
        if requirements.is_file():
            path.insert(0, str(_installed(folder, requirements)))
        return Launch([sys.executable, str(folder / "client.py")], {"PYTHONPATH": ":".join(path)})

    return Family(name, launch, lacks or {})


def _installed(folder: Path, requirements: Path) -> Path:
    def install(target: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_build([*pip, "--target", str(target), "-r", str(requirements)])

    return built(folder, requirements.stem, [sys.version, requirements.read_text()], install)


LIBRDKAFKA = python_family(
    "librdkafka", {"sticky": "librdkafka has the cooperative kind of sticky only"}
)
KAFKA_PYTHON = python_family("kafka-python")
AIOKAFKA = python_family(
    "aiokafka", {"cooperative-sticky": "aiokafka knows the eager protocol only"}
)

FAMILIES = {family.name: family for family in (LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA)}
