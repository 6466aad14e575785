"""docs/quickstart.md, followed from the first line to the last by a reader with two terminals.

Ports and folders are this test's own; everything else is as the page says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_server import free_ports
from oracles import ROOT, stop
from transcripts import Block, Step, blocks_of, is_as_told, run, steps_of

PAGE = ROOT / "docs" / "quickstart.md"
PROGRAM = "totals.py"


class Reader:
    """Two terminals: one with the broker, one for everything else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._broker: subprocess.Popen[bytes] | None = None
        broker, control = free_ports(2)
        self._places = {"127.0.0.1:9092": f"127.0.0.1:{broker}", "8080": str(control)}
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "BARNABAS_BOOTSTRAP": self._places["127.0.0.1:9092"],
        }

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.language == "python":
            (self.folder / PROGRAM).write_text(self._here(block.text))
            return
        for step in steps_of(block):
            printed = self._do(step)
            assert is_as_told(self._here(step.expected), printed), f"{step.command}\n{printed}"

    def stop_broker(self) -> None:
        """Ctrl-C in the first terminal."""
        if self._broker is not None:
            stop(self._broker)
            self._broker = None

    def _do(self, step: Step) -> str:
        if step.command.startswith("scripts/run"):
            return self._start_broker(self._here(step.command), len(step.expected.splitlines()))
        return run(self._here(step.command), self.folder, self._environment)

    def _start_broker(self, command: str, lines: int) -> str:
        """Start the broker; the lines it prints at first, without the page's closing `…`."""
        self.stop_broker()
        listen = self._places["127.0.0.1:9092"]
        command = f"exec {command} --listen {listen} --data-dir '{self.folder}/data'"
        self._broker = subprocess.Popen(
            ["bash", "-c", command],
            cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._broker.stdout is not None
        return (
            "".join(self._broker.stdout.readline().decode() for _ in range(lines - 1)) + "and more"
        )

    def _here(self, text: str) -> str:
        for told, ours in self._places.items():
            text = text.replace(told, ours)
        return text


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Somebody who follows the page."""
    made = Reader(tmp_path)
    yield made
    made.stop_broker()


def test_the_quickstart_works_from_start_to_end(reader: Reader) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the program curl is not installed")
    blocks = blocks_of(PAGE)
    assert len(blocks) > 7
    for block in blocks:
        reader.follow(block)
