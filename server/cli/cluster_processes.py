"""The processes of `barnabas cluster start`: one broker each, started again when it ends by itself.

Of a broker in the cluster's folder: `broker-0` its logs, `broker-0.log` what it has said,
`broker-0.pid` the number of its process.
"""

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from barnabas.server.cli.failures import Failure
from barnabas.server.testing.admin import ask
from barnabas.server.testing.mourner import Mourner
from barnabas.wire.messages.metadata import MetadataRequest

START_S: Final = 60.0
STOP_S: Final = 60.0
LAST_LINES: Final = 3
NUMBER: Final = "cluster.pid"


class BrokerProcess:
    """One broker, again and again on the same port."""

    def __init__(
        self, broker_id: int, folder: Path, host: str, port: int, settings: Mapping[str, str]
    ) -> None:
        self.broker_id = broker_id
        self.data = folder / f"broker-{broker_id}"
        self.output = folder / f"broker-{broker_id}.log"
        self._number = folder / f"broker-{broker_id}.pid"
        self._settings = {"broker.id": str(broker_id), **settings}
        self._host, self._port = host, port
        self._process: subprocess.Popen[bytes] | None = None
        self._mourner: Mourner | None = None
        self._began_at = 0  # in the output
        self.ended_at: float | None = None
        """When it was found to have ended by itself, by the monotonic clock."""

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{self._host}:{self._port}"

    @property
    def process_id(self) -> int:
        """Of a broker that has been started."""
        assert self._process is not None
        return self._process.pid

    def spawn(self) -> None:
        """Start the process; `wait_until_started` waits for the broker."""
        words = [word for each in self._settings.items() for word in ("--set", "=".join(each))]
        command = [sys.executable, "-m", "barnabas", "start", "--listen", self.address, *words]
        self.ended_at = None
        with self.output.open("ab") as output:
            self._began_at = output.tell()
            self._process = subprocess.Popen(
                [*command, "--data-dir", str(self.data)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
                start_new_session=True,  # Ctrl-C is for whoever runs it, who then stops it
            )  # fmt: skip
        self._mourner = Mourner(self._process.pid, signal.SIGTERM)
        self._number.write_text(f"{self._process.pid}\n")

    def wait_until_started(self) -> None:
        """Wait for its first line, which says where it listens. Raises Failure."""
        assert self._process is not None and self._process.stdout is not None
        line = b""
        if select.select([self._process.stdout], [], [], START_S)[0]:
            line = self._process.stdout.readline()
        if not line.startswith(b"listening on "):
            self.stop()
            raise Failure(f"broker {self.broker_id} did not start: {self.last_words()}")
        self._port = int(line.split()[2].rpartition(b":")[2])

    def knows(self, broker_ids: set[int]) -> bool:
        """Whether it tells clients of these; also if it answers nobody without TLS or a name."""
        try:
            answer = ask(self._host, self._port, MetadataRequest(topics=[]), 9)
        except OSError:
            return True
        return {each.node_id for each in answer.brokers} >= broker_ids

    def look(self, now: float) -> bool:
        """Whether it has ended by itself since the last look."""
        if self.ended_at is not None or self._process is None or self._process.poll() is None:
            return False
        self.ended_at = now
        self._let_go()
        return True

    def begin_stop(self) -> None:
        """Ask it to stop in good order."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """Stop it in good order, by force if it takes too long."""
        if self._process is None:
            return
        self.begin_stop()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._let_go()

    def how_it_ended(self) -> str:
        """In a few words."""
        code = self._process.returncode if self._process is not None else 0
        if code < 0:
            return f"by {signal.Signals(-code).name}"
        return f"with exit code {code}: {self.last_words()}"

    def last_words(self) -> str:
        """What it said last, in one line."""
        with self.output.open("rb") as output:
            output.seek(self._began_at)
            said = output.read().decode(errors="replace")
        lines = [line.strip().removeprefix("barnabas: ") for line in said.splitlines() if line]
        return " / ".join(lines[-LAST_LINES:]) or "it said nothing"

    def _let_go(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        self._process.stdout.close()
        self._number.unlink(missing_ok=True)
        if self._mourner is not None:
            self._mourner.dismiss()
            self._mourner = None


def stop_all(brokers: list[BrokerProcess]) -> None:
    """Stop them one after the other: each hands over what it leads, but for the last."""
    for broker in brokers:
        broker.stop()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder is this process's alone, whose number is in it. Raises Failure."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / NUMBER).open("a") as number:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failure(f"{folder} is another running cluster's; say --data DIR") from None
        number.truncate(0)
        number.write(f"{os.getpid()}\n")
        number.flush()
        yield
        number.truncate(0)
