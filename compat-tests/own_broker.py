"""A Barnabas that is killed and started again: its port and data directory stay."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from broker_fixture import start_command
from kafka_server import free_ports
from oracles import stop


class OwnBroker:
    """A broker in a child process; it runs from the start."""

    def __init__(self, folder: Path, settings: Sequence[str] = (), port: int | None = None) -> None:
        self.folder = folder
        self._settings = settings
        port = port or free_ports(1)[0]
        self.address = f"127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = start_command(self.address, self.folder / "data", *self._settings)
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self._process.stdout is not None
        if b"listening" not in self._process.stdout.readline():
            self.close()
            raise AssertionError((self.folder / "broker.log").read_text()[-3000:])

    def kill(self) -> None:
        """SIGKILL; of no effect while it does not run."""
        if self._process is not None:
            self._process.kill()
        self.close()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def pause(self, seconds: float) -> None:
        """SIGSTOP for so long."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def complaints(self) -> str:
        """The end of what it has logged as an error, with tracebacks."""
        log = (self.folder / "broker.log").read_text()
        found = [at for sign in (" ERROR ", "Traceback (most") if (at := log.find(sign)) >= 0]
        position = min(found, default=-1)
        return log[max(0, position - 100) :][:4000] if position >= 0 else ""

    def close(self) -> None:
        """End it, however it is."""
        if self._process is not None:
            stop(self._process)
            self._process = None
