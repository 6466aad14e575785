"""Which clients take part, and each as a process that is killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from client_builds import JAVA, built, kafka_clients_jars, run_build
from oracles import java_command

END_TIMEOUT_S = 12.0
STUCK_S = 15.0
WORKER = Path(__file__).resolve().parent / "workers" / "Worker.java"
COMPILED_AGAINST = "3.9.1"


@dataclass(frozen=True)
class Part:
    """What one client does: from `source` to `target`, as a member of `group`."""

    role: str
    client: str
    number: int
    source: str = ""
    target: str = ""
    group: str = ""
    committed: bool = True

    @property
    def name(self) -> str:
        return f"{self.role}-{self.client}-{self.number}"


@dataclass(frozen=True)
class Run:
    """What all processes of a run have in common."""

    bootstrap: str
    folder: Path
    seed: int
    partitions: int


class Client:
    """A part, and the process that plays it."""

    def __init__(self, part: Part, run: Run) -> None:
        self.part = part
        self.starts = self.failures = self.hung = 0
        self._run = run
        self._process: subprocess.Popen[bytes] | None = None
        self._zombies: list[tuple[subprocess.Popen[bytes], float]] = []
        self.start()

    @property
    def history(self) -> Path:
        return self._run.folder / f"{self.part.name}-{self.starts}.jsonl"

    @property
    def errors(self) -> Path:
        return self._run.folder / f"{self.part.name}.stderr"

    def start(self) -> None:
        """A new process, of a new name and the same transactional id."""
        self.starts += 1
        name = f"{self.part.name}#{self.starts}"
        given = {
            "role": self.part.role,
            "client": self.part.client,
            "name": name,
            "id": self.part.name,
            "bootstrap": self._run.bootstrap,
            "seed": f"{self._run.seed}/{name}",
            "partitions": self._run.partitions,
            "source": self.part.source,
            "target": self.part.target,
            "group": self.part.group,
            "committed": int(self.part.committed),
            "history": self.history,
        }
        arguments = [f"{key}={value}" for key, value in given.items()]
        self.history.touch()
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                _program(self.part.client) + arguments,
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": ":".join(sys.path)},
            )

    def kill(self) -> None:
        """SIGKILL, and the next one."""
        self._end(self._process)
        self.start()

    def suspend(self, seconds: float) -> None:
        """SIGSTOP for so long; another takes over its transactional id meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self._zombies.append((self._process, time.monotonic() + seconds))
        self.start()

    def look(self) -> None:
        """Start another if it has ended by itself or does nothing any more; wake zombies."""
        assert self._process is not None
        if self._process.poll() is not None:
            self.failures += self._process.returncode == 1
            self.kill()
        elif time.time() - self.history.stat().st_mtime > STUCK_S:
            self.hung += 1
            self.kill()
        for zombie, until in [each for each in self._zombies if each[1] < time.monotonic()]:
            zombie.send_signal(signal.SIGCONT)
            self._zombies.remove((zombie, until))
            self._awake(zombie)

    def _awake(self, zombie: subprocess.Popen[bytes]) -> None:
        """It finds out by itself that it was replaced, a reader does not: its input ends."""
        assert zombie.stdin is not None
        zombie.stdin.close()
        try:
            zombie.wait(3)
        except subprocess.TimeoutExpired:
            self._end(zombie)

    def stop(self) -> None:
        """Let it finish."""
        for zombie, _ in self._zombies:
            self._end(zombie)
        self._zombies.clear()
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()

    def join(self) -> None:
        """Wait until it has."""
        assert self._process is not None
        try:
            self._process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._end(self._process)

    def close(self) -> None:
        """Whatever is left of it."""
        for process in [self._process, *(zombie for zombie, _ in self._zombies)]:
            self._end(process)
        self._zombies.clear()

    @staticmethod
    def _end(process: subprocess.Popen[bytes] | None) -> None:
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()


def _program(client: str) -> list[str]:
    if not client.startswith("java-"):
        return [sys.executable, "-m", "exactly_once.workers.run"]
    jars = kafka_clients_jars(client.removeprefix("java-"))
    return java_command(jars, "Worker", heap="128m", classes=_compiled_worker())


def _compiled_worker() -> Path:
    def compile_it(target: Path) -> None:
        jars = kafka_clients_jars(COMPILED_AGAINST)
        run_build(["javac", "-d", str(target), "-cp", f"{jars}/*", str(WORKER)])

    return built(JAVA, "exactly-once", [WORKER.read_text()], compile_it)
