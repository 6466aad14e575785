"""A test's broker in a process of its own, reached by the control over HTTP.

The child (`child.py`) gets what to do as one line of JSON on its standard input and says what
came of it in one line on its standard output. The input stays open as long as the broker is
wanted: its end, by `close` or by our death, is the child's order to stop and tidy up.
"""

import base64
import contextlib
import json
import os
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlencode

from barnabas.server.testing.link import START_TIMEOUT_S
from barnabas.server.testing.refusals import REFUSALS, NotRunning, Refusal

if TYPE_CHECKING:
    from barnabas.server.testing.seen import Seen

STOP_TIMEOUT_S = 30.0
PATIENCE_S = 60.0  # for an answer, besides what the command itself waits
# The child's path of modules is ours, so that it finds the same Barnabas.
PROGRAM = (
    "import sys, json; order = json.loads(sys.stdin.readline()); sys.path[:] = order['path'];"
    "from barnabas.server.testing.child import run; run(order)"
)


class ProcessLink:
    """The child, and the way to its control. `remove_data`: its data directory goes with it."""

    def __init__(self, *, remove_data: bool) -> None:
        self._remove_data = remove_data
        self._child: subprocess.Popen[bytes] | None = None
        self._owner_id = os.getpid()
        self._faults: dict[str, Any] = {}
        self.port = -1
        self.bootstrap_servers = ""
        self.control_port = -1
        self._host = ""

    @property
    def is_open(self) -> bool:
        """Whether the child is there; a fork of ours cannot know, and asks it."""
        return self._child is not None and (self._is_fork or self._child.poll() is None)

    @property
    def process_id(self) -> int:
        """The child's. Raises NotRunning."""
        return self._running_child().pid

    def open(self, settings: Mapping[str, str]) -> None:
        """Start the child. Raises what kept the broker from starting, as a thread would."""
        order = {
            "path": sys.path,
            "parent": os.getpid(),
            "settings": {"barnabas.http.port": "0", **settings, "barnabas.http.control": "true"},
            "remove": self._remove_data,
        }
        self._child = child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            _write(child, order)
            import_module("http.client")  # for the first command; the child is not there yet
            answer = _read(child)
        except BaseException:
            self._abandon()
            raise
        if "error" in answer:
            self._abandon()
            raise pickle.loads(base64.b64decode(answer["error"]))
        self.port, self._host = answer["port"], answer["control_host"]
        self.control_port = answer["control_port"]
        self.bootstrap_servers = answer["bootstrap_servers"]

    def close(self) -> None:
        """Let the child stop the broker in good order, and wait for its end."""
        if self._child is None or self._is_fork:
            return
        with contextlib.suppress(NotRunning):  # it may have been killed
            listed = self.ask("GET", "/control/faults", {})["faults"]
            self._faults = {f"/control/faults/{each['id']}": each for each in listed}
        code = self._reap()
        if code > 0:
            raise RuntimeError(f"the broker's process ended with exit code {code}")

    def ask(self, method: str, path: str, given: Mapping[str, object]) -> Any:
        """Carry out a command of the control."""
        if not self.is_open and method == "GET" and path in self._faults:
            return self._faults[path]  # as it was at the end
        self._running_child()
        body = json.dumps(given).encode() if method == "POST" else None
        query = {name: value for name, value in given.items() if value is not None}
        target = f"{path}?{urlencode(query)}" if query and body is None else path
        wait_s = float(str(given.get("timeout_ms", 0))) / 1000
        status, text = self._exchange(method, target, body, wait_s + PATIENCE_S)
        if status >= 400:
            _refuse(status, text.decode())
        return json.loads(text)

    def requests(self, given: Mapping[str, object]) -> "list[Seen]":
        """What `GET /control/requests` finds, decoded again."""
        from barnabas.server.testing.seen import seen_from_json

        found = self.ask("GET", "/control/requests", given)["requests"]
        return [seen_from_json(each) for each in found]

    @property
    def _is_fork(self) -> bool:
        """Whether the child is another process's, which forked us, and will end it."""
        return os.getpid() != self._owner_id

    def _running_child(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise NotRunning("the broker is not running")
        if not self._is_fork and (code := self._child.poll()) is not None:
            raise NotRunning(f"the broker's process has ended with exit code {code}")
        return self._child

    def _exchange(
        self, method: str, target: str, body: bytes | None, timeout_s: float
    ) -> tuple[int, bytes]:
        import http.client

        connection = http.client.HTTPConnection(self._host, self.control_port, timeout=timeout_s)
        headers = {"Connection": "close", "Content-Type": "application/json"}
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (ConnectionError, http.client.HTTPException) as error:
            raise NotRunning(f"the broker's process does not answer: {error!r}") from None
        finally:
            connection.close()

    def _reap(self) -> int:
        """End the child by the end of its input, and then by force; its exit code."""
        child, self._child = self._child, None
        if child is None:
            return 0
        assert child.stdin is not None and child.stdout is not None
        child.stdin.close()
        # Its end ends the output too, which is known at once; `wait` looks every 50 ms.
        if not select.select([child.stdout], [], [], STOP_TIMEOUT_S)[0]:
            child.kill()
        child.stdout.close()
        return child.wait()

    def _abandon(self) -> None:
        """The start has failed: nothing is worth waiting for."""
        assert self._child is not None
        self._child.kill()
        self._reap()


def _write(child: subprocess.Popen[bytes], order: Mapping[str, object]) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended already; reading tells
        child.stdin.write(json.dumps(order).encode() + b"\n")
        child.stdin.flush()


def _read(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The child's one line. Raises TimeoutError, or RuntimeError if it ends without one."""
    assert child.stdout is not None
    line, deadline = b"", time.monotonic() + START_TIMEOUT_S
    while not line.endswith(b"\n"):
        left_s = max(0.0, deadline - time.monotonic())
        if not select.select([child.stdout], [], [], left_s)[0]:
            raise TimeoutError(f"the broker did not start in {START_TIMEOUT_S:.0f} s")
        some = os.read(child.stdout.fileno(), 65536)
        if not some:
            code = child.wait()
            raise RuntimeError(f"the broker's process ended with exit code {code} as it started")
        line += some
    answer: dict[str, Any] = json.loads(line)
    return answer


def _refuse(status: int, text: str) -> NoReturn:
    """Raise the refusal that a status stands for; only the control's own are JSON."""
    try:
        sentence = str(json.loads(text)["error"])
    except ValueError:
        sentence = text.strip()
    raise REFUSALS.get(status, Refusal)(sentence)
