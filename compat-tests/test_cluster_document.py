"""docs/cluster.md, its ten minutes, followed from the first line to the last.

Ports and the folder are this test's own; everything else is as the page says.
"""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from oracles import ROOT, require_oracle, require_program, stop
from transcripts import Block, Step, blocks_of, is_as_told, run, steps_of

PAGE = ROOT / "docs" / "cluster.md"
PORTS = range(5_000, 9_900)  # of four digits, as the page's: columns are as wide
PORTS_OF_THE_PAGE = ("9092", "9093", "9094", "9095", "2181")
START = "barnabas cluster start"


class Reader:
    """Two terminals: one with the cluster, one for everything else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cluster: subprocess.Popen[bytes] | None = None
        first = free_ports_in_a_row(5)
        self._places = {told: str(first + n) for n, told in enumerate(PORTS_OF_THE_PAGE)}
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "BARNABAS_BOOTSTRAP": self._here("127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"),
        }

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        for step in steps_of(block):
            printed = self._do(step)
            assert is_as_told(self._here(step.expected), printed), f"{step.command}\n{printed}"

    def leave(self) -> None:
        """Ctrl-C in the first terminal, and what was started in the second is ended."""
        number = self.folder / "broker-3.pid"
        if number.exists():
            with suppress(ProcessLookupError):
                os.kill(int(number.read_text()), signal.SIGTERM)
        if self._cluster is not None:
            self._cluster.send_signal(signal.SIGINT)
            stop(self._cluster)

    def _do(self, step: Step) -> str:
        command = self._here(step.command)
        if step.command.startswith(START):
            return self._start_cluster(command, len(step.expected.splitlines()))
        return run(command, self.folder, self._environment)

    def _start_cluster(self, command: str, lines: int) -> str:
        """The lines it prints at first, without the page's closing `…`."""
        first = self._places["9092"]
        with (self.folder / "cluster.err").open("wb") as errors:
            self._cluster = subprocess.Popen(
                ["bash", "-c", f"exec {command} --listen 127.0.0.1:{first}"],
                cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        assert self._cluster.stdout is not None
        said = "".join(self._cluster.stdout.readline().decode() for _ in range(lines - 1))
        return f"{said}and more"

    def _here(self, text: str) -> str:
        told = "|".join(self._places)  # at once: a port of ours may be another one's there
        return re.sub(told, lambda found: self._places[found[0]], text)


def free_ports_in_a_row(count: int) -> int:
    """The first of some ports that nobody listens on."""
    while True:
        first = random.choice(PORTS)
        with ExitStack() as taken:
            try:
                for port in range(first, first + count):
                    taken.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Somebody who follows the page."""
    require_program("java")
    require_oracle("jars-3.9.1")
    made = Reader(tmp_path)
    yield made
    made.leave()


def test_the_ten_minutes_go_as_the_page_says(reader: Reader) -> None:
    blocks = [block for block in blocks_of(PAGE) if block.language == "console"]
    assert len(blocks) > 5
    for block in blocks:
        reader.follow(block)
