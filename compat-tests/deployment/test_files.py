"""The compose file and the systemd unit, by those who read them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from deployment_parts import FILES
from oracles import ROOT, require_program

COMPOSE = "github.com/compose-spec/compose-go/v2/cmd@v2.9.1"


def test_the_compose_file_is_one_and_mounts_what_is_there() -> None:
    done = subprocess.run(
        [require_program("go"), "run", COMPOSE, "compose.yaml"],
        cwd=FILES, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sources = [
        Path(line.partition("source: ")[2].strip())
        for line in done.stdout.splitlines()
        if "source: /" in line
    ]
    assert len(sources) == 5
    assert [each for each in sources if not each.is_file()] == []
    assert f"context: {ROOT}\n" in done.stdout


def test_all_of_them_give_a_broker_the_same_time_to_stop() -> None:
    pages = [FILES / "compose.yaml", FILES / "barnabas.service", ROOT / "docs" / "deployment.md"]
    named = r"(?:stop_grace_period: |TimeoutStopSec=|terminationGracePeriodSeconds: )(\w+)"
    assert [re.findall(named, page.read_text()) for page in pages] == [["180s"], ["180"], ["180"]]


def test_the_unit_is_one(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    unit = (FILES / "barnabas.service").read_text()
    program = "/opt/barnabas/bin/barnabas"
    assert f"ExecStart={program} start --config /etc/barnabas/server.properties" in unit
    file = tmp_path / "barnabas.service"
    file.write_text(unit.replace(program, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
