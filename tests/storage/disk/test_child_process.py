import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.storage.disk.child_process import ChildProcess

DEADLINE_SECONDS = 20
# Answers each message with itself; a number is how it ends.
ECHO = """
import os
from barnabas.storage.disk.child_process import pack_message, read_message, take_standard_streams

def main():
    messages, answers = take_standard_streams()
    print("this gets in nobody's way", flush=True)
    while (message := read_message(messages)) is not None:
        if isinstance(message, int):
            os._exit(message)
        answers.write(pack_message(message))
        answers.flush()
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChildProcess]:
    (tmp_path / "echo_child.py").write_text(ECHO)
    monkeypatch.syspath_prepend(str(tmp_path))
    child = ChildProcess("echo_child")
    yield child
    child.close()


def answers_of(child: ChildProcess, count: int) -> list[object]:
    """So many answers, or fewer if the child ends."""
    answers: list[object] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(answers) < count and child.exit_code is None:
        assert time.monotonic() < deadline
        select.select([child], [], [], 0.1)
        answers += child.receive()
    return answers


def test_messages_of_any_size_go_there_and_back(child: ChildProcess) -> None:
    large = os.urandom(1 << 20)
    child.send("small")
    child.send(large)
    assert answers_of(child, 2) == ["small", large]
    assert child.exit_code is None


def test_the_end_of_a_child_is_its_exit_code(child: ChildProcess) -> None:
    child.send(["last words"])
    child.send(3)
    assert answers_of(child, 2) == [["last words"]]
    assert child.exit_code == 3
    child.close()


def test_a_child_is_ended_whatever_it_does(child: ChildProcess) -> None:
    child.close()
    assert child.exit_code == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


def test_a_child_that_is_slow_to_die_is_not_waited_for_but_reaped(child: ChildProcess) -> None:
    pid = child.pid
    child.close(0)
    assert child.exit_code == -signal.SIGKILL
    deadline = time.monotonic() + DEADLINE_SECONDS
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline
        another = ChildProcess("echo_child")
        another.close()
