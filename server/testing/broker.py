"""`barnabas.Broker`: a whole broker inside the process of a test, or in a child of it.

    with barnabas.Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

It runs in a thread with an event loop of its own, or with `process=True` in another process, on
a free port of 127.0.0.1, in a temporary directory, and is ready when `start` returns. Everything
a test does to it (`clock`, `faults`, `requests`, `transactions`, `snapshot`) is a command of the
control (`commands`), carried out on the broker's loop: a test never sees half a change.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.server.core.addresses import address
from barnabas.server.testing.abandoned import Watch
from barnabas.server.testing.clock import TestClock
from barnabas.server.testing.faults import TestFaults
from barnabas.server.testing.refusals import in_python
from barnabas.server.testing.requests import RequestLog
from barnabas.server.testing.transactions import TestTransactions

if TYPE_CHECKING:
    from barnabas.server.broker import Broker as ServerBroker
    from barnabas.server.testing.link import Link
    from barnabas.server.testing.thread_link import ThreadLink

T = TypeVar("T")

# What a test wants that a server does not: no waiting for more members or for the disk, small
# internal topics, every produced record looked at.
TEST_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "produce.validation": "full",
    "log.initial.task.delay.ms": "0",
    "barnabas.registry.sync": "false",
    "barnabas.log.level": "error",
}


class Broker:
    """One broker for tests.

    `settings` are Kafka's, by name. `data_dir` keeps the data where it is after the stop;
    without it a temporary directory goes with the broker. `pose_as` names the Kafka to look
    like. `process` puts it in a child process, for tests that keep the interpreter busy or fork.

    One that nobody stops is ended when it is lost, with a ResourceWarning.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        data_dir: str | Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        pose_as: str = "",
        process: bool = False,
    ) -> None:
        self.process = process
        self._own_dir = data_dir is None
        self._data_dir = Path(data_dir).absolute() if data_dir is not None else None
        self._host, self._port = host, port
        self._settings = {**TEST_SETTINGS, **texts(settings or {})}
        if pose_as:
            self._settings["barnabas.pose.as"] = pose_as
        self._link: Link | None = None
        self._watch: Watch | None = None
        self._process_id = os.getpid()
        self.clock = TestClock(self)
        self.faults = TestFaults(self)
        self.requests = RequestLog(self)
        self.transactions = TestTransactions(self)

    def __repr__(self) -> str:
        kind = "in a process" if self.process else "in a thread"
        if self._link is None:
            return f"<Broker {kind}, not started>"
        try:
            state = "running" if self.ask("GET", "/control/broker")["running"] else "stopped"
        except Exception:  # in a fork, or while it ends
            state = "stopped" if not self._link.is_open else "not to be asked"
        return f"<Broker {kind} on {self.bootstrap_servers}, {state}>"

    # Life.

    def start(self) -> Self:
        """Start, and return when clients can connect. Raises what kept it from starting."""
        if self._link is not None and self._link.is_open:
            self.ask("POST", "/control/broker/start")
            return self
        if self._data_dir is None:
            self._data_dir = Path(tempfile.mkdtemp(prefix="barnabas-"))
        link = self._new_link()
        try:
            link.open(self._all_settings())
        except BaseException:
            self._remove_own_dir()
            raise
        self._dismiss_watch()
        self._link, self._watch = link, self._new_watch(link)
        return self

    def stop(self) -> None:
        """Stop in good order; a temporary directory is removed.

        Raises what the predicate of a fault raised. In a fork of the process it does nothing.
        """
        self._stop()
        self.faults.check()

    def _stop(self) -> None:
        if os.getpid() != self._process_id:
            return
        self._dismiss_watch()
        try:
            if self._link is not None:
                self._link.close()
        finally:
            self._remove_own_dir()

    def kill(self) -> None:
        """Stop as a crash would: nothing is flushed or marked; the data stays for `start`."""
        if self._link is not None and self._link.is_open:
            self.ask("POST", "/control/broker/kill")

    def restart(self) -> None:
        """Stop and start again on the same port, with the same data."""
        self.command("restart", "POST", "/control/broker/restart")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._stop()
        if failure is None:  # else the test fails by it
            self.faults.check()

    # Where it is.

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return self.link.port

    @property
    def bootstrap_servers(self) -> str:
        """What clients call bootstrap.servers."""
        return self.link.bootstrap_servers

    @property
    def control_url(self) -> str:
        """Where programs of other languages give their commands, as http://127.0.0.1:8080.

        Raises RuntimeError for a broker in the process without `barnabas.http.control`.
        """
        port = self.link.control_port
        if port < 0:
            wanted = '{"barnabas.http.control": True, "barnabas.http.port": 0}'
            raise RuntimeError(f"the control is open where the settings have {wanted}")
        return f"http://{address(self._settings.get('barnabas.http.host', '127.0.0.1'), port)}"

    @property
    def data_dir(self) -> Path:
        """Where the logs are."""
        if self._data_dir is None:
            raise RuntimeError("the broker has not been started")
        return self._data_dir

    @property
    def server(self) -> "ServerBroker":
        """The broker itself; touch it only through `call`."""
        return self._thread_link.server

    # What a test does with it.

    @property
    def link(self) -> "Link":
        """The way to the broker. Raises RuntimeError before the first start."""
        if self._link is None:
            raise RuntimeError("the broker has not been started")
        return self._link

    def ask(self, method: str, path: str, **fields: object) -> Any:
        """Give a command of the control (docs/testing.md), as one would over HTTP.

        A refusal is a ValueError, LookupError, RuntimeError or TimeoutError.
        """
        return self.link.ask(method, path, fields)

    def command(self, called: str, method: str, path: str, **fields: object) -> Any:
        """`ask`, for the method `called` of this class, which a refusal names."""
        with in_python(called):
            return self.link.ask(method, path, fields)

    def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the broker's loop and return what it returns."""
        return self._thread_link.call(function)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's loop and return what it returns."""
        return self._thread_link.run(work)

    def create_topic(
        self, name: str, partitions: int = 1, settings: Mapping[str, object] | None = None
    ) -> str:
        """Create a topic and wait until it has leaders; its name, for chaining."""
        given = texts(settings or {})
        self.command(
            "create_topic", "POST", "/control/topics",
            name=name, partitions=partitions, settings=given,
        )  # fmt: skip
        return name

    def clear(self) -> None:
        """Delete every topic, internal ones and with them all groups too; forget faults.

        Settings that were changed while the broker ran are as they were at its start. Raises
        what the predicate of a fault raised.
        """
        self.command("clear", "POST", "/control/clear")
        self.faults.check()

    def pose_as(self, release: str) -> None:
        """Restart as another Kafka ("2.8"), or as ourselves (""). Raises ValueError."""
        self.command("pose_as", "POST", "/control/pose", release=release or None)

    def snapshot(self, directory: str | Path) -> None:
        """Copy the state of the stopped or running broker, by hard links where that is safe.

        Closed segments never change again and are linked; what is still written is copied.
        The folder must not exist yet.
        """
        folder = str(Path(directory).absolute())
        self.command("snapshot", "POST", "/control/snapshot", directory=folder)

    def restore(self, directory: str | Path) -> None:
        """Go back to a snapshot: stop, put its files in the place of ours, start."""
        folder = str(Path(directory).absolute())
        self.command("restore", "POST", "/control/restore", directory=folder)

    # How it runs.

    @property
    def _thread_link(self) -> "ThreadLink":
        from barnabas.server.testing.thread_link import ThreadLink

        if not isinstance(self.link, ThreadLink):
            raise RuntimeError("the broker is in another process: give it commands by `ask`")
        return self.link

    def _new_link(self) -> "Link":
        if self._link is not None:
            self._link.close()  # a child that was killed; a thread only ends when told
            self._port = self._link.port
        return self._make_link()

    def _make_link(self) -> "Link":
        if self.process:
            from barnabas.server.testing.process_link import ProcessLink

            return ProcessLink(remove_data=self._own_dir)
        from barnabas.server.testing.thread_link import ThreadLink

        return ThreadLink()

    def _dismiss_watch(self) -> None:
        if self._watch is not None:
            self._watch.dismiss()

    def _new_watch(self, link: "Link") -> Watch | None:
        return Watch(self, partial(end_lost, link, self._data_dir if self._own_dir else None))

    def _all_settings(self) -> dict[str, str]:
        return {
            "listeners": f"PLAINTEXT://{address(self._host, self._port)}",
            "log.dirs": str(self._data_dir),
            **self._settings,
        }

    def _remove_own_dir(self) -> None:
        if self._own_dir and self._data_dir is not None:
            shutil.rmtree(self._data_dir, ignore_errors=True)
            self._data_dir = None


def end_lost(link: "Link", folder: Path | None) -> None:
    """End a broker that nobody can stop any more, as a crash would, and take its folder along."""
    for end in (partial(link.ask, "POST", "/control/broker/kill", {}), link.close):
        with suppress(Exception):
            end()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def texts(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings as Kafka writes them."""
    return {name: _text(value) for name, value in settings.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
