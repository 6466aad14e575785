"""A child process of this program, for work that would keep the interpreter busy.

Parent and child exchange messages, each a length (uint32) and a pickle, both being the same
program: the parent over the child's standard input, the child over its standard output. A
child whose parent dies sees the end of its input.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from struct import Struct
from typing import Any, BinaryIO, Final

_LENGTH: Final = Struct(">I")
_READ_BYTES: Final = 1 << 16
_STOP_SECONDS: Final = 5
_dying: Final[list["subprocess.Popen[bytes]"]] = []
"""Children that were killed and are not dead yet."""


class ChildProcess:
    """A running child, as its parent sees it; nothing here waits."""

    def __init__(self, module: str, inherited_fds: Sequence[int] = ()) -> None:
        """Start `main` of a module; raises OSError."""
        _reap()
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {module} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | {"PYTHONPATH": path},
            pass_fds=inherited_fds,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        for pipe in (self._input, self._output):
            os.set_blocking(pipe.fileno(), False)
        self._unsent = bytearray()
        self._received = bytearray()
        self.exit_code: int | None = None
        """How the child ended, None while it has not."""

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def fileno(self) -> int:
        """A descriptor that turns readable when `receive` has something."""
        return self._output.fileno()

    def send(self, message: object) -> None:
        """Send a message, or what the pipe takes of it: `receive` sends the rest."""
        self._unsent += pack_message(message)
        self._send()

    def _send(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._input.fileno(), self._unsent)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()  # the end of the child's output says so

    def receive(self) -> list[Any]:
        """The messages that have come; `exit_code` is set once there will be no more."""
        self._send()
        try:
            while data := os.read(self._output.fileno(), _READ_BYTES):
                self._received += data
        except BlockingIOError:
            return self._take_messages()
        messages = self._take_messages()
        self.close()
        return messages

    def _take_messages(self) -> list[Any]:
        messages = []
        received = self._received
        while len(received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received)
            end = _LENGTH.size + length
            if len(received) < end:
                break
            messages.append(pickle.loads(received[_LENGTH.size : end]))
            del received[:end]
        return messages

    def close(self, patience_seconds: float = _STOP_SECONDS) -> None:
        """End the child, whatever it is doing.

        One that takes longer to die, as it may in the middle of a sync, is waited for when the
        next child ends or begins.
        """
        if self.exit_code is None:
            self._process.kill()
            try:
                self.exit_code = self._process.wait(patience_seconds)
            except subprocess.TimeoutExpired:
                self.exit_code = -signal.SIGKILL
                _dying.append(self._process)
            self._input.close()
            self._output.close()
            _reap()


def _reap() -> None:
    _dying[:] = [process for process in _dying if process.poll() is None]


def pack_message(message: object) -> bytes:
    """A message as it is sent."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


# --- in the child ----------------------------------------------------------------------


def take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Where messages come from and go to; whatever prints gets to the standard error instead."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, answers


def read_message(stream: BinaryIO) -> Any:
    """The next message, None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return pickle.loads(data) if len(data) == length else None
