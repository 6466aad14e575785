"""`barnabas start --test`: what a test of any language starts, and what is left of it: nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server.cli.conftest import run_apart
from tests.server.settings import stock_files
from tests.server.waiting import wait_until

COMMAND = (sys.executable, "-m", "barnabas", "start", "--test")


@contextmanager
def started(
    folder: Path, *options: str, stdin: int = subprocess.PIPE
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, the address of its broker, and that of its control."""
    with subprocess.Popen(
        [*COMMAND, *options], stdin=stdin, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            first, second = process.stdout.readline(), process.stdout.readline()
            assert first.startswith("listening on 127.0.0.1:")
            assert second.startswith("control on http://127.0.0.1:")
            yield process, first.split()[2], second.split()[2]
        finally:
            process.kill()


def broker_of(control: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{control}/control/broker", timeout=30) as answer:
        found: dict[str, object] = json.load(answer)
    return found


def test_it_ends_with_its_input_and_leaves_nothing(tmp_path: Path) -> None:
    with started(tmp_path) as (process, address, control):
        assert len(list(tmp_path.iterdir())) == 1
        assert broker_of(control)["bootstrap_servers"] == address
        assert run_apart(address)("produce", "t", "--create", stdin="a\n").code == 0
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stdout is not None and process.stdout.read() == "stopped\n"
    assert list(tmp_path.iterdir()) == []


PARENT = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
print(child.stdout.readline().split()[2], flush=True)
os.kill(os.getpid(), 9)
"""


def test_it_ends_when_who_started_it_is_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARENT, *COMMAND], capture_output=True, text=True, timeout=60,
        env={**os.environ, "TMPDIR": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    host, _, port = done.stdout.strip().rpartition(":")
    wait_until(lambda: not is_served(host, int(port)), 60)
    wait_until(lambda: not list(tmp_path.iterdir()), 60)


def test_it_goes_on_when_nobody_reads_what_it_prints(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    folder = tmp_path / "temporary"
    folder.mkdir()
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    ) as process:  # fmt: skip
        os.close(writer)
        wait_until(lambda: bool(list(folder.glob("*/.lock"))), 60)
        _, said = process.communicate(timeout=60)  # closes its input
    assert (process.returncode, said, list(folder.iterdir())) == (0, "", [])


def is_served(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 30).close()
    except ConnectionRefusedError:
        return False
    return True


def test_an_input_that_is_no_pipe_says_nothing(tmp_path: Path) -> None:
    with started(tmp_path, stdin=subprocess.DEVNULL) as (process, _, control):
        broker_of(control)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_file_and_settings_count_but_for_addresses_and_folders(tmp_path: Path) -> None:
    file, folder = tmp_path / "server.properties", tmp_path / "temporary"
    folder.mkdir()
    file.write_text(stock_files.as_file(stock_files.KRAFT["4 server.properties"]))
    options = ("--config", str(file), "--set", "num.partitions=3", "--set", "log.retention.ms=5")
    with started(folder, *options) as (_, address, control):
        state = broker_of(control)
        assert state["listeners"] == [f"PLAINTEXT://{address}"]
        assert str(state["data_dir"]).startswith(str(folder))
        run_apart(address)("produce", "t", "--create", stdin="a\n")
        described = run_apart(address)("topics", "describe", "t").stdout
    assert described.count("\nt ") == 3


def test_a_file_is_above_the_settings_for_tests_and_below_the_command_line(tmp_path: Path) -> None:
    file, folder = tmp_path / "server.properties", tmp_path / "temporary"
    folder.mkdir()
    file.write_text(
        "offsets.topic.num.partitions=9\n"
        "group.initial.rebalance.delay.ms=7\n"
        "transaction.state.log.num.partitions=8\n"
    )
    options = ("--config", str(file), "--set", "transaction.state.log.num.partitions=5")
    names = (
        "offsets.topic.num.partitions", "group.initial.rebalance.delay.ms",
        "transaction.state.log.num.partitions", "log.initial.task.delay.ms",
    )  # fmt: skip
    with started(folder, *options) as (_, address, _control):
        rows = run_apart(address)("configs", "get", "broker", "0", *names, "--json").rows
    values = {row["name"]: row["value"] for row in rows}
    assert [values[name] for name in names] == ["9", "7", "5", "0"]
