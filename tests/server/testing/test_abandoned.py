"""Test brokers that nobody stopped, in programs of their own: ended, tidied up after, and told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.waiting import wait_until

START = """
import gc, os, sys, threading
import barnabas

def start():
    return barnabas.{what}.start()  # here it was

broker = start()
print(os.getpid(), broker.bootstrap_servers, flush=True)
"""
BROKERS = {
    "thread": "Broker()",
    "process": "Broker(process=True)",
    "cluster": "Cluster(2)",
}
every = pytest.mark.parametrize("what", BROKERS.values(), ids=list(BROKERS))


def run(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A program whose temporary files are in `folder`."""
    return subprocess.run(
        [sys.executable, *options, "-c", program],
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip


@every
def test_at_exit_its_folder_goes_and_a_warning_says_where_it_was_started(
    tmp_path: Path, what: str
) -> None:
    ended = run(tmp_path, START.format(what=what), "-W", "always")
    assert ended.returncode == 0
    assert list(tmp_path.iterdir()) == []
    name = what.partition("(")[0]
    lines = [line for line in ended.stderr.splitlines() if "Warning" in line]
    assert lines == [
        f"<string>:6: ResourceWarning: a barnabas.{name} that <string>:6 started was not stopped;"
        " start it by `with`, or call `stop`"
    ]
    assert "Traceback" not in ended.stderr and " ERROR " not in ended.stderr


@every
def test_one_that_is_lost_is_ended_though_the_program_goes_on(tmp_path: Path, what: str) -> None:
    program = START.format(what=what) + (
        "folder = broker.data_dir\n"
        "assert folder.exists()\n"
        "del broker\n"
        "gc.collect()\n"
        "for thread in threading.enumerate():\n"
        "    if thread.name == 'barnabas-end':\n"
        "        thread.join()\n"
        "print(folder.exists(), any(each.name == 'barnabas' for each in threading.enumerate()))\n"
    )
    ended = run(tmp_path, program, "-W", "always")
    assert ended.stdout.splitlines()[1:] == ["False False"]
    assert ended.stderr.count("ResourceWarning") == 1
    assert list(tmp_path.iterdir()) == []


@every
def test_one_that_was_stopped_is_no_matter(tmp_path: Path, what: str) -> None:
    ended = run(tmp_path, START.format(what=what) + "broker.stop()\n", "-W", "error")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_data_directory_that_was_named_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ended = run(tmp_path, START.format(what=f"Broker(data_dir={str(kept)!r})"), "-W", "always")
    assert ended.stderr.count("ResourceWarning") == 1
    assert (kept / "meta.properties").exists()


def test_the_child_takes_the_folder_along_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = START.format(what="Broker(process=True)") + "os.kill(os.getpid(), 9)\n"
    assert run(tmp_path, program).returncode == -9
    wait_until(lambda: not list(tmp_path.iterdir()), 60)


FORK = """
child = os.fork()
if not child:
    {inside}
    sys.stdout.flush()
    {end}
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(broker.clock.now_ms() > 0)
broker.stop()
"""
ends = pytest.mark.parametrize("end", ["os._exit(0)", "broker.stop(); sys.exit()", "sys.exit()"])


@ends
def test_a_fork_of_a_thread_says_what_to_do_and_harms_nothing(tmp_path: Path, end: str) -> None:
    inside = "print(broker)\n    try: broker.clock.now_ms()\n    except RuntimeError as e: print(e)"
    ended = run(tmp_path, START.format(what="Broker()") + FORK.format(inside=inside, end=end))
    first, shown, refused, after = ended.stdout.splitlines()
    number, address = first.split()
    assert shown == f"<Broker in a thread on {address}, not to be asked>"
    assert refused == (
        f"the broker is a thread of process {number}, and this is a fork of it;"
        " barnabas.Broker(process=True) can be used from forks, too"
    )
    assert after == "True"
    assert ended.returncode == 0
    assert list(tmp_path.iterdir()) == []


@ends
def test_a_fork_can_use_a_broker_in_a_process(tmp_path: Path, end: str) -> None:
    inside = "print(broker.create_topic('forked'))"
    ended = run(
        tmp_path, START.format(what="Broker(process=True)") + FORK.format(inside=inside, end=end)
    )
    assert ended.stdout.splitlines()[1:] == ["forked", "True"], ended.stderr
    assert ended.returncode == 0
    assert list(tmp_path.iterdir()) == []
