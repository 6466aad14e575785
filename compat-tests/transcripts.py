"""Documents as tests: what a page tells its reader to type, typed, and its answers compared.

A `console` block holds commands behind `$ ` (a `\\` at the end goes on with the next line), each
followed by what it prints; `…` there stands for anything. Blocks of other languages are
programs.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_SECONDS = 120


class Block(NamedTuple):
    """One fenced block of a page."""

    language: str
    text: str


class Step(NamedTuple):
    """A command, and what the page says that it prints."""

    command: str
    expected: str


def blocks_of(page: Path) -> list[Block]:
    """The page's fenced blocks, in order."""
    return [Block(*found.groups()) for found in FENCE.finditer(page.read_text())]


def steps_of(block: Block) -> Iterator[Step]:
    """The commands of a `console` block."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"output before the first command: {parts[0]!r}"
    for part in parts[1:]:
        lines = part.splitlines()
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        yield Step("\n".join(lines[:length]), "\n".join(lines[length:]))


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What a command prints, on either of its outputs, in a shell. It has to succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}"
    return done.stdout


def is_as_told(expected: str, printed: str) -> bool:
    """Whether a command printed what the page says, blanks at the ends of lines aside."""
    wanted, got = (
        "\n".join(line.rstrip() for line in text.strip().splitlines())
        for text in (expected, printed)
    )
    pattern = ".*".join(re.escape(part) for part in wanted.split("…"))
    return re.fullmatch(pattern, got, re.DOTALL) is not None
