"""Which clients take part, and the processes that play them: started again if they end."""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from client_builds import JAVA, built, kafka_clients_jars, run_build
from oracles import java_command

END_TIMEOUT_S = 45.0
SOURCE = Path(__file__).resolve().parent / "workers" / "Load.java"
JAVA_VERSION = "3.9.1"
PLAIN, IDEMPOTENT = "plain", "idempotent"
TOPICS = (PLAIN, IDEMPOTENT)
"""What producers of each kind write to."""


@dataclass(frozen=True)
class Part:
    """What one client does: a producer of a kind, or a member of the group that reads it all."""

    role: str
    client: str
    kind: str = ""

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.role, self.client, self.kind)))


@dataclass(frozen=True)
class Load:
    """What all clients of a run have in common. `rate`: records a second of each producer."""

    bootstrap: str
    folder: Path
    seed: int
    partitions: int
    rate: float
    group: str = "watchers"

    def arguments(self, part: Part, start: int) -> list[str]:
        """For a process's so manieth start: its name is new each time."""
        name = f"{part.name}#{start}"
        given = {
            "role": part.role,
            "client": part.client,
            "kind": part.kind,
            "name": name,
            "bootstrap": self.bootstrap,
            "seed": f"{self.seed}/{name}",
            "partitions": self.partitions,
            "rate": self.rate,
            "topic": part.kind or ",".join(TOPICS),
            "group": self.group,
            "history": self.folder / f"{part.name}-{start}.jsonl",
        }
        return [f"{key}={value}" for key, value in given.items()]


class Client(ABC):
    """Some parts, and the process that plays them."""

    def __init__(self, parts: Sequence[Part], load: Load) -> None:
        self.parts, self.load = parts, load
        self.starts = self.failures = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @abstractmethod
    def command(self) -> list[str]:
        """What to run."""

    @property
    def name(self) -> str:
        return self.parts[0].name

    @property
    def errors(self) -> Path:
        return self.load.folder / f"{self.name}.stderr"

    def start(self) -> None:
        """A new process, of a new name."""
        self.starts += 1
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
            )

    def look(self) -> None:
        """Start another if it has ended by itself."""
        assert self._process is not None
        if self._process.poll() is not None:
            self.failures += self._process.returncode == 1
            self.close()
            self.start()

    def stop(self) -> None:
        """Let it finish."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()

    def join(self) -> bool:
        """Wait until it has; whether it has in time."""
        assert self._process is not None
        try:
            self._process.wait(END_TIMEOUT_S)
            return True
        except subprocess.TimeoutExpired:
            self.close()
            return False

    def close(self) -> None:
        """Whatever is left of it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None and not self._process.stdin.closed:
                self._process.stdin.close()


class PythonClient(Client):
    """One part."""

    def command(self) -> list[str]:
        arguments = self.load.arguments(self.parts[0], self.starts)
        return [sys.executable, "-m", "cluster.workers.run", *arguments]


class JavaClient(Client):
    """Any number of parts in one JVM."""

    def command(self) -> list[str]:
        jars = kafka_clients_jars(JAVA_VERSION)
        arguments: list[str] = []
        for part in self.parts:
            arguments += [*self.load.arguments(part, self.starts), "--"]
        program = java_command(jars, "Load", heap="128m", classes=_compiled())
        return [*program, *arguments]


def _compiled() -> Path:
    def compile_it(target: Path) -> None:
        jars = kafka_clients_jars(JAVA_VERSION)
        run_build(["javac", "-d", str(target), "-cp", f"{jars}/*", str(SOURCE)])

    return built(JAVA, "nothing-lost", [SOURCE.read_text()], compile_it)


def producers(load: Load) -> list[Client]:
    """Three libraries, each of both kinds."""
    found: list[Client] = [
        PythonClient([Part("producer", client, kind)], load)
        for client in ("librdkafka", "kafka-python")
        for kind in TOPICS
    ]
    return [*found, JavaClient([Part("producer", "java", kind) for kind in TOPICS], load)]


def members(load: Load) -> list[Client]:
    """Three libraries in one group."""
    found: list[Client] = [
        PythonClient([Part("member", client)], load) for client in ("librdkafka", "kafka-python")
    ]
    return [*found, JavaClient([Part("member", "java")], load)]
