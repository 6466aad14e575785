"""A Dockerfile read as its steps, and the files that a .dockerignore lets into an image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple


class Instruction(NamedTuple):
    """One step: RUN, COPY, ENV, ... and what follows it."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """An exec form, as ENTRYPOINT ["barnabas"]; after its options, as HEALTHCHECK has them."""
        words: list[str] = json.loads(self.text[self.text.index("[") :])
        return words


def stages_of(text: str) -> list[list[Instruction]]:
    """The instructions of each stage, which FROM begins."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    stages: list[list[Instruction]] = []
    for line in filter(None, joined.splitlines()):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append(Instruction(name, rest.strip()))
    return stages


def context_of(root: Path) -> Iterator[Path]:
    """The files that `docker build` is sent, relative to `root`: the last pattern decides."""
    lines = (root / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    tops = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    for top in tops:
        place = root / top
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            name = file.relative_to(root)
            if file.is_file() and not _is_left_out(name, patterns):
                yield name


def _is_left_out(name: Path, patterns: list[str]) -> bool:
    left_out = False
    for pattern in patterns:
        wanted = pattern.removeprefix("!").removeprefix("**/")
        folders = [name, *name.parents]
        if pattern.startswith("**/"):
            matches = any(fnmatch(part, wanted) for part in name.parts)
        else:
            matches = any(fnmatch(str(each), wanted) for each in folders)
        if matches:
            left_out = not pattern.startswith("!")
    return left_out
