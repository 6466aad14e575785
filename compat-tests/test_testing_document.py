"""The HTTP part of docs/testing.md, typed command by command; its Python is a fast test's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from oracles import ROOT, running
from transcripts import Block, blocks_of, is_as_told, run, steps_of

PAGE = ROOT / "docs" / "testing.md"


def started(block: Block, data_dir: Path) -> tuple[list[str], list[str]]:
    """The page's `barnabas start` on free ports, and the lines it says that this prints."""
    step = next(steps_of(block))
    words = step.command.replace("\\\n", " ").split()
    assert words[:2] == ["barnabas", "start"]
    words = [word.replace("=8080", "=0") for word in words[1:]]
    words += ["--listen", "127.0.0.1:0", "--data-dir", str(data_dir)]
    return [sys.executable, "-m", "barnabas", *words], step.expected.splitlines()


def ports_of(process: subprocess.Popen[bytes], told: list[str]) -> dict[str, str]:
    """The page's ports and those of this process, read from its first lines."""
    assert process.stdout is not None
    ports = {}
    for line in told:
        printed = process.stdout.readline().decode().strip()
        ours, theirs = (re.findall(r":(\d+)", text)[0] for text in (printed, line))
        assert printed == line.replace(theirs, ours)
        ports[theirs] = ours
    return ports


def test_the_commands_on_the_page_do_what_it_says(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the program curl is not installed")
    start, *blocks = [block for block in blocks_of(PAGE) if block.language == "console"]
    command, told = started(start, tmp_path)
    with (tmp_path / "stderr").open("wb") as stderr, running(command, stderr) as process:
        ports = ports_of(process, told)
        for step in (step for block in blocks for step in steps_of(block)):
            here = [step.command, step.expected]
            for theirs, ours in ports.items():
                here = [text.replace(f"127.0.0.1:{theirs}", f"127.0.0.1:{ours}") for text in here]
            printed = run(here[0], tmp_path, os.environ)
            assert is_as_told(here[1], printed), f"{here[0]}\n{printed}"
