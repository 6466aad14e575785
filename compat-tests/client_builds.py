"""How the client programs are built and started.

Builds go into `<family>/target` (git-ignored) once per content of their inputs, under a lock,
so that parallel test processes share them.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from oracles import java_command, missing, require_oracle

HERE = Path(__file__).resolve().parent
JAVA = HERE / "java"
GO = HERE / "go"
ORACLE_VERSIONS = ("3.9.1", "4.4.0")
# Each era's classes are compiled against its oldest version and run with all of them.
OLDEST_OF_ERA = {
    "era-0.10": "0.10.2.2",
    "era-1.0": "1.0.2",
    "era-2.0": "2.0.1",
    "era-2.5": "2.8.2",
}
# An era with a program of its own has its other names from the one before it.
ERA_BEFORE = {"era-2.5": "era-2.0"}
BUILD_TIMEOUT_SECONDS = 600
PAUSE_SECONDS = 5


@dataclass(frozen=True)
class Launch:
    """How a built program is started; a command of the contract follows."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Family:
    """One client library. `lacks` maps a feature the tests ask for to why it is not there.

    `assignor` is what its members use where a test does not care.
    """

    name: str
    build: Callable[[], Launch]
    lacks: Mapping[str, str] = field(default_factory=dict)
    assignor: str = "range"


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
    """Run one step of a build; its output is the failure's message.

    It is run once more if it fails, as `scripts/oracles` does: most steps fetch something, and
    another test process may be at the same cache.
    """
    if shutil.which(command[0]) is None:
        missing(f"the program {command[0]} is not installed")
    done = _run(command, folder)
    if done.returncode:
        time.sleep(PAUSE_SECONDS)
        done = _run(command, folder)
    if done.returncode:
        missing(f"{' '.join(command[:3])} … failed:\n{done.stdout[-4000:]}")


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_TIMEOUT_SECONDS,
        cwd=folder,
    )


def python_family(
    name: str,
    lacks: Mapping[str, str] | None = None,
    *,
    program: str = "client.py",
    requirements: str = "requirements.txt",
    older_than_python_3_7: bool = False,
) -> Family:
    """A Python program: on this interpreter's packages, or on those its requirements name.

    `name` is the folder, with a version after it where `requirements` names one of several.
    `older_than_python_3_7` is for packages that later Pythons refuse: their copy is rewritten.
    """
    version = requirements.removeprefix("requirements").removesuffix(".txt")
    folder = HERE / name.removesuffix(version)

    def launch() -> Launch:
        path = [str(HERE)]
        if (folder / requirements).is_file():
            path.insert(0, str(_installed(folder / requirements, older_than_python_3_7)))
        return Launch([sys.executable, str(folder / program)], {"PYTHONPATH": ":".join(path)})

    return Family(name, launch, lacks or {})


def _installed(requirements: Path, older_than_python_3_7: bool) -> Path:
    def install(target: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_build([*pip, "--no-compile", "--target", str(target), "-r", str(requirements)])
        if older_than_python_3_7:
            _modernise(target / "kafka")

    inputs = [sys.version, requirements.read_text(), str(older_than_python_3_7)]
    return built(requirements.parent, requirements.stem, inputs, install)


def _modernise(package: Path) -> None:
    """Two things Python 3.7 forbade: a name `async`, and StopIteration to leave a generator."""
    for source in package.rglob("*.py"):
        text = re.sub(r"\basync\b", "async_", source.read_text())
        source.write_text(re.sub(r"\braise StopIteration\b(\(.*\))?", "return", text))


def java_family(version: str, era: str, lacks: Mapping[str, str] | None = None) -> Family:
    """kafka-clients of one version; `era` is the folder of what that version calls otherwise."""

    def launch() -> Launch:
        jars = kafka_clients_jars(version)
        program = "ClientWithTransactions" if era in ERA_BEFORE else "Client"
        return Launch(java_command(jars, program, heap="256m", classes=_java_classes(era)))

    return Family(f"java-{version}", launch, lacks or {})


def _java_classes(era: str) -> Path:
    sources = [*sorted(JAVA.glob("*.java")), JAVA / ERA_BEFORE.get(era, era) / "Era.java"]
    if era in ERA_BEFORE:
        sources += sorted((JAVA / era).glob("*.java"))
    return _compiled(era, sources, kafka_clients_jars(OLDEST_OF_ERA[era]))


def _compiled(key: str, sources: list[Path], jars: Path) -> Path:
    def compile_sources(target: Path) -> None:
        run_build(["javac", "-d", str(target), "-cp", f"{jars}/*", *map(str, sources)])

    return built(JAVA, key, [source.read_text() for source in sources], compile_sources)


def kafka_clients_jars(version: str) -> Path:
    """The folder with kafka-clients and what it needs: an oracle's, or fetched by Maven."""
    if version in ORACLE_VERSIONS:
        return require_oracle(f"jars-{version}")
    return maven_jars(f"org.apache.kafka:kafka-clients:{version}")


def maven_jars(coordinate: str) -> Path:
    """Fetch an artifact with its dependencies into `java/target`."""
    _, artifact, version = coordinate.split(":")

    def fetch(target: Path) -> None:
        (target / "pom.xml").write_text(_pom(*coordinate.split(":")))
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
        run_build(
            ["mvn", "-q", "-B", "-f", str(target / "pom.xml"), goal, f"-DoutputDirectory={target}"]
        )

    return built(JAVA, f"{artifact}-{version}", [coordinate], fetch)


def _pom(group: str, artifact: str, version: str) -> str:
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>barnabas</groupId><artifactId>clients</artifactId><version>1</version>
<dependencies><dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>
<version>{version}</version></dependency></dependencies></project>"""


def ancient_java_family(lacks: Mapping[str, str]) -> Family:
    """Kafka 0.8.2.2: kafka-clients has no consumer yet, so Scala's comes with it."""
    sources = [*sorted((HERE / "java-0.8").glob("*.java")), JAVA / "Contract.java"]

    def launch() -> Launch:
        jars = maven_jars("org.apache.kafka:kafka_2.11:0.8.2.2")
        classes = _compiled("ancient", sources, jars)
        return Launch(java_command(jars, "Ancient", heap="256m", classes=classes))

    return Family("java-0.8.2.2", launch, lacks)


def go_family(name: str, lacks: Mapping[str, str] | None = None) -> Family:
    """One of the programs of the Go module."""

    def launch() -> Launch:
        sources = [*sorted(GO.glob("**/*.go")), GO / "go.mod", GO / "go.sum"]

        def compile_programs(target: Path) -> None:
            run_build(["go", "build", "-o", f"{target}/", "./..."], folder=GO)

        inputs = [source.read_text() for source in sources]
        return Launch([str(built(GO, "bin", inputs, compile_programs) / name)])

    return Family(name, launch, lacks or {})


def node_family(name: str, lacks: Mapping[str, str], assignor: str) -> Family:
    """A program for Node; its modules are installed beside a copy of its sources."""
    folder = HERE / name

    def launch() -> Launch:
        sources = [*sorted(folder.glob("*.mjs")), folder / "package.json"]

        def install(target: Path) -> None:
            for source in sources:
                shutil.copy(source, target)
            run_build(["npm", "install", "--silent", "--no-package-lock"], folder=target)

        target = built(folder, "program", [source.read_text() for source in sources], install)
        silence = {"KAFKAJS_NO_PARTITIONER_WARNING": "1"}
        return Launch(["node", str(target / "client.mjs")], silence)

    return Family(name, launch, lacks, assignor)
