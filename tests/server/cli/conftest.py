"""Commands run in this process against the file's broker."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from barnabas.server.cli.main import main
from barnabas.server.testing.broker import Broker
from tests.server.cli.processes import Command


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    def is_one_sentence(self) -> bool:
        return self.stdout == "" and self.stderr.count("\n") == 1


Run = Callable[..., Outcome]


@pytest.fixture
def run(broker: Broker) -> Run:
    """Run a command in this process."""
    return run_at(broker.bootstrap_servers)


def run_at(bootstrap: str) -> Run:
    """What runs a command in this process, for a broker at an address."""

    def invoke(*arguments: str, stdin: str | bytes = "") -> Outcome:
        runner = CliRunner(env={"BARNABAS_BOOTSTRAP": bootstrap})
        result = runner.invoke(main, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke


def run_apart(bootstrap: str) -> Run:
    """The same in another process, for commands whose client leaves sockets open."""

    def invoke(*arguments: str, stdin: str = "") -> Outcome:
        result = subprocess.run(
            [sys.executable, "-m", "barnabas", *arguments], input=stdin, capture_output=True,
            text=True, timeout=120, env={**os.environ, "BARNABAS_BOOTSTRAP": bootstrap},
        )  # fmt: skip
        return Outcome(result.returncode, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def commands() -> Iterator[list[Command]]:
    made: list[Command] = []
    yield made
    for command in made:
        command.process.kill()
        command.process.wait()
        assert command.process.stdin is not None
        command.process.stdin.close()


def on_a_terminal(width: int, command: list[str], **environment: str) -> str:
    """What a command prints that has nothing but a terminal, colours included; it must succeed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    surroundings = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        command, env=surroundings | {"TERM": "xterm-256color"} | environment,
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    printed = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            while chunk := terminal.read(4096):
                printed += chunk
        except OSError:
            pass  # the last writer has gone
    assert process.wait(60) == 0, printed
    return printed.decode()
