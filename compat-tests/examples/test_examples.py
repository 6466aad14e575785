"""The example projects for other languages, each from a clean copy of what is checked in.

They find `barnabas` by the environment variable BARNABAS, start it themselves, and leave nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from oracles import ROOT, require_program

EXAMPLES = ROOT / "docs" / "examples"
TIMEOUT_SECONDS = 300


class Project(NamedTuple):
    """How a project is tested, what it must print, and the one file that its readers copy."""

    commands: list[list[str]]
    passed: str
    helper: str


PROJECTS = {
    "junit": Project(
        [["mvn", "-B", "--no-transfer-progress", "test"]],
        r"Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
        "src/test/java/orders/Barnabas.java",
    ),
    "go": Project(
        [["gofmt", "-l", "."], ["go", "vet", "./..."], ["go", "test", "-count=1", "-v", "./..."]],
        r"(?s)(--- PASS.*){4}\nok ",
        "barnabas_test.go",
    ),
    "node": Project(
        [["npm", "install", "--silent", "--no-package-lock"], ["npm", "test"]],
        r"(?m)^# pass 4$",
        "barnabas.mjs",
    ),
}


@pytest.fixture
def run(tmp_path: Path) -> Callable[[list[str], Path], str]:
    """Run a command where `barnabas` is a program of its own; what it printed."""
    program = tmp_path / "barnabas"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m barnabas "$@"\n')
    program.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {
        **os.environ,
        "BARNABAS": str(program),
        "TMPDIR": str(temporary),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }

    def run(command: list[str], folder: Path) -> str:
        require_program(command[0])
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

    return run


def clean_copy(name: str, target: Path) -> Path:
    """What a clone has of a project."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "."], cwd=EXAMPLES / name, capture_output=True, text=True,
        check=True,
    ).stdout  # fmt: skip
    for file in filter(None, listed.split("\0")):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES / name / file, target / file)
    return target


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_passes_from_a_clean_copy_and_leaves_nothing(
    name: str, tmp_path: Path, run: Callable[[list[str], Path], str]
) -> None:
    project = PROJECTS[name]
    folder = clean_copy(name, tmp_path / name)
    printed = [run(command, folder) for command in project.commands]
    assert re.search(project.passed, printed[-1]), printed[-1]
    if name == "go":
        assert printed[0] == "", "gofmt would change these"
    left = [each.name for each in (tmp_path / "temporary").glob("barnabas-*")]
    assert left == []


STOPPING = """
import { startBarnabas } from './barnabas.mjs'
const broker = await startBarnabas()
if (process.argv[2]) await new Promise(resolve => setTimeout(resolve, process.argv[2]))
await broker.stop()
await broker.stop()
"""


@pytest.mark.parametrize(
    "rest", ["exit 3", "kill -9 $$", "exec sleep 600", "while read line; do :; done"]
)
@pytest.mark.parametrize("later", [[], ["500"]])
def test_the_helper_for_node_stops_whatever_the_broker_does(
    tmp_path: Path, rest: str, later: list[str]
) -> None:
    require_program("node")
    broker = tmp_path / "barnabas"
    broker.write_text(f"#!/bin/sh\necho listening on a:1\necho control on b:2\n{rest}\n")
    broker.chmod(0o755)
    shutil.copy(EXAMPLES / "node" / "barnabas.mjs", tmp_path)
    (tmp_path / "stopping.mjs").write_text(STOPPING)
    done = subprocess.run(
        ["node", "stopping.mjs", *later], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "BARNABAS": str(broker)}, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", PROJECTS)
def test_the_file_to_copy_needs_nothing_of_its_project(name: str) -> None:
    text = (EXAMPLES / name / PROJECTS[name].helper).read_text()
    assert not re.search(r"kafkajs|franz-go|org\.apache\.kafka", text)
    assert PROJECTS[name].helper in (EXAMPLES / name / "README.md").read_text()
