"""`barnabas start` as a process: how it ends when it cannot go on, and what it does for speed."""

import asyncio
import gc
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.cli import start
from barnabas.server.core.collector import Collector
from barnabas.server.settings.config import load_config
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce
from tests.server.refusal import Refusal
from tests.server.waiting import wait_until

LARGEST_FILE_BYTES = 200_000


CONTROL = ("--set", "barnabas.http.port=0", "--set", "barnabas.http.control=true")


@pytest.fixture(params=[(), CONTROL], ids=["alone", "controlled"])
def process(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A broker whose files cannot grow beyond a limit."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE_BYTES, LARGEST_FILE_BYTES))

    arguments = ["start", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path)]
    arguments += request.param
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
    ) as started:  # fmt: skip
        yield started
        started.kill()


def produce_until_refused(client: RawClient) -> int:
    """Write more than a file can hold; the code that refuses it."""
    client.call(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 1)
    for _ in range(100):
        code = int(produce(client, "t", make_batch(b"x" * 10_000)).error_code)
        if code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            return code
    raise AssertionError("everything was taken")


@pytest.mark.broker_says("a data directory failed", "its partitions are offline")
def test_a_broker_without_a_disk_left_ends_and_says_why(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None and process.stderr is not None
    address = process.stdout.readline().split()[2]
    with RawClient(int(address.rpartition(":")[2])) as client:
        code = produce_until_refused(client)
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert process.wait(60) == 1
    lines = process.stderr.read().splitlines()
    assert lines[-1] == "barnabas: the last data directory failed; see `log.dirs`"


@pytest.mark.broker_says("partitions are offline|a data directory failed", always=False)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_start_that_is_busy_loading(tmp_path: Path, number: int) -> None:
    """Files that nobody writes keep the start waiting: of the first it is told that it is there."""
    fifos = [tmp_path / disk / "cleaner-offset-checkpoint" for disk in ("a", "b")]
    for fifo in fifos:
        fifo.parent.mkdir()
        os.mkfifo(fifo)
    arguments = ["start", "--listen", "127.0.0.1:0", "--data-dir", f"{tmp_path}/a,{tmp_path}/b"]
    with subprocess.Popen([sys.executable, "-m", "barnabas", *arguments]) as started:
        try:
            wait_until(lambda: has_reader(fifos[0]), 60)
            started.send_signal(number)
            assert started.wait(60) == 0
        finally:
            started.kill()


def has_reader(fifo: Path) -> bool:
    """Whether somebody waits for the other end of a pipe; he goes on then."""
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@pytest.mark.broker_says("the registry could not be written", "did not stop in good order")
def test_a_stop_that_the_registry_cannot_be_told_of_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = Refusal(monkeypatch)

    def started(_: object) -> None:
        refusal.next("/controller", 1_000)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(start, "announce", started)
    monkeypatch.setattr(start, "COLLECTOR", Collector())
    monkeypatch.setattr(gc, "freeze", lambda: None)
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
    config = load_config((), settings)
    assert asyncio.run(start._serve(config, lambda _: config)) == 1
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith("barnabas: the broker did not stop in good order")
    assert "Traceback" not in said


def test_without_a_word_about_listeners_a_broker_is_for_this_machine_alone(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("broker.id=3\n")

    def listens_on(files: tuple[Path, ...], settings: tuple[str, ...], listen: str | None) -> str:
        overrides = start.overrides_of(files, settings, str(tmp_path), listen)
        (endpoint,) = load_config(files, overrides).endpoints
        return str(endpoint)

    assert listens_on((), (), None) == "PLAINTEXT://127.0.0.1:9092"
    assert listens_on((), ("broker.id=1",), "[::1]:0") == "PLAINTEXT://[::1]:0"
    assert listens_on((), ("listeners=PLAINTEXT://:7",), None) == "PLAINTEXT://:7"
    assert listens_on((file,), (), None) == "PLAINTEXT://:9092"
