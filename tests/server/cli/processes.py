"""`barnabas` commands as processes of their own, for what goes on and on."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

from barnabas.server.testing.broker import Broker

PATIENCE_S = 60


class Command:
    """A `barnabas` command as a process, what it says collected as it comes."""

    def __init__(self, broker: Broker, *arguments: str, code: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, *(("-c", code) if code else ("-m", "barnabas")), *arguments],
            env=os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap_servers},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.printed: list[str] = []
        self.said: list[str] = []
        self._collecting = [
            threading.Thread(target=self._collect, args=each, daemon=True)
            for each in ((self.process.stdout, self.printed), (self.process.stderr, self.said))
        ]
        for thread in self._collecting:
            thread.start()

    def _collect(self, stream: IO[str], lines: list[str]) -> None:
        with stream:
            lines.extend(iter(stream.readline, ""))

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def wait_for(self, lines: list[str], words: str, patience_s: float = PATIENCE_S) -> float:
        """Until a line has the words; how long it took."""
        started_s = time.monotonic()
        while not any(words in line for line in list(lines)):
            assert time.monotonic() - started_s < patience_s, (words, self.said)
            assert any(thread.is_alive() for thread in self._collecting), self.said
            time.sleep(0.02)
        return time.monotonic() - started_s

    def end(self) -> int:
        """Close its input and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        """Wait for its end, and for all that it printed and said; its exit code."""
        code = self.process.wait(PATIENCE_S)
        for thread in self._collecting:
            thread.join(PATIENCE_S)
        return code


def started(commands: list[Command], broker: Broker, *arguments: str, code: str = "") -> Command:
    commands.append(Command(broker, *arguments, code=code))
    return commands[-1]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
