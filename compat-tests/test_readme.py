"""Every program in the README runs as it stands, but for the broker's address."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from oracles import ROOT, java_command, require_oracle, require_package, require_program

README = (ROOT / "README.md").read_text()
FRANZ_GO = ROOT / "compat-tests" / "go"
KAFKAJS = ROOT / "compat-tests" / "kafkajs"
CONNECTOR_JARS = "jars-spark-4.2.0"


def program(section: str, address: str) -> str:
    """The code under a heading, pointed at the broker under test."""
    found = re.search(rf"### {section}\n+```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, f"the README has no program under {section}"
    return found[1].replace("127.0.0.1:9092", address)


def run(*command: str, cwd: Path, **environment: str) -> str:
    """What a program printed; it must end well within two minutes."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def greeted(broker_address: str, tmp_path: Path) -> str:
    """The Python program has run: there is a greeting to read."""
    (tmp_path / "hello.py").write_text(program("Python", broker_address))
    return run(sys.executable, "hello.py", cwd=tmp_path)


def test_python(greeted: str) -> None:
    assert greeted == "hello from Python\n"


def test_java(broker_address: str, tmp_path: Path) -> None:
    (tmp_path / "Hello.java").write_text(program("Java", broker_address))
    command = java_command(require_oracle("jars-4.4.0"), "Hello.java")
    assert "hello from Java is at offset" in run(*command, cwd=tmp_path)


def test_go(broker_address: str, tmp_path: Path) -> None:
    go = require_program("go")
    for name in ("go.mod", "go.sum"):
        shutil.copy(FRANZ_GO / name, tmp_path / name)
    (tmp_path / "main.go").write_text(program("Go", broker_address))
    assert run(go, "run", ".", cwd=tmp_path, GOFLAGS="-mod=mod") == "hello from Go: <nil>\n"


def test_node(broker_address: str, tmp_path: Path) -> None:
    node, npm = require_program("node"), require_program("npm")
    shutil.copy(KAFKAJS / "package.json", tmp_path / "package.json")
    run(npm, "install", "--no-audit", "--no-fund", "--no-package-lock", cwd=tmp_path)
    (tmp_path / "hello.mjs").write_text(program("Node", broker_address))
    answer = run(node, "hello.mjs", cwd=tmp_path, KAFKAJS_NO_PARTITIONER_WARNING="1")
    assert answer == "hello from Node was sent\n"


def test_spark(greeted: str, broker_address: str, tmp_path: Path) -> None:
    require_package("pyspark")
    jars = ",".join(str(jar) for jar in require_oracle(CONNECTOR_JARS).glob("*.jar"))
    (tmp_path / "hello.py").write_text(program("Spark", broker_address))
    answer = run(
        sys.executable,
        "hello.py",
        cwd=tmp_path,
        SPARK_LOCAL_IP="127.0.0.1",
        PYSPARK_SUBMIT_ARGS=f"--jars {jars} --master local[1] pyspark-shell",
    )
    assert "Row(value='hello from Python')" in answer
