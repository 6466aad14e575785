"""A broker that a JavaScript project's own tests drive over HTTP, with kafkajs and node:test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from client_builds import built, run_build
from oracles import require_program, running

HERE = Path(__file__).resolve().parent
SOURCES = ("package.json", "control.mjs", "orders.test.mjs")
SETTINGS = (
    "barnabas.http.port=0",
    "barnabas.http.control=true",
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.num.partitions=4",
)
TIMEOUT_SECONDS = 120


def _installed() -> Path:
    """The project with its client library."""

    def make(target: Path) -> None:
        shutil.copy(HERE / "package.json", target)
        run_build(["npm", "install", "--silent", "--no-package-lock"], folder=target)

    return built(HERE, "node", [(HERE / "package.json").read_text()], make)


def test_a_javascript_project_tests_itself_against_barnabas(tmp_path: Path) -> None:
    node = require_program("node")
    project = _installed()
    for name in SOURCES:
        shutil.copy(HERE / name, project)
    command = [sys.executable, "-m", "barnabas", "start", "--listen", "127.0.0.1:0"]
    command += ["--data-dir", str(tmp_path / "data")]
    for setting in SETTINGS:
        command += ["--set", setting]
    with (tmp_path / "stderr").open("wb") as stderr, running(command, stderr) as broker:
        assert broker.stdout is not None
        printed = broker.stdout.readline() + broker.stdout.readline()
        control = re.search(r"control on (http://\S+)", printed.decode())
        assert control is not None, (tmp_path / "stderr").read_text()
        done = subprocess.run(
            [node, "--test", "orders.test.mjs"],
            cwd=project,
            env={
                **os.environ,
                "BARNABAS_CONTROL": control[1],
                "KAFKAJS_NO_PARTITIONER_WARNING": "1",
            },
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert re.search(r"^# pass 5$", done.stdout, re.MULTILINE), done.stdout
