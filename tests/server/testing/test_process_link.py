"""The child that holds a broker: it never outlives its parent, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import barnabas
from barnabas.server.testing.process_link import ProcessLink
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient

PATIENCE_S = 60.0

PARENT = """
import os, sys, time
import barnabas
broker = barnabas.Broker(process=True).start()
broker.create_topic("t")
if sys.argv[1] == "with a sibling" and os.fork() == 0:
    os.close(1)
    time.sleep(60)
    os._exit(0)
print(broker.link.process_id, broker.data_dir, broker.port, flush=True)
time.sleep(60)
"""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def is_alive(process_id: int) -> bool:
    """Whether the process runs; one that nobody has waited for is dead all the same."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def child_of(broker: barnabas.Broker) -> int:
    link = broker.link
    assert isinstance(link, ProcessLink)
    return link.process_id


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_child_goes_when_its_parent_is_killed(end: signal.Signals, tmp_path: Path) -> None:
    with _parent(tmp_path, "alone") as parent:
        child, data_dir, _ = _greeting(parent)
        parent.send_signal(end)
        parent.wait()
        wait_until(lambda: not is_alive(child), "the child lives on")
        assert not data_dir.exists()


def test_a_forked_sibling_that_holds_the_pipe_keeps_nothing_alive(tmp_path: Path) -> None:
    # Plan: the parent forks a process that inherits the child's input, and is killed. The input
    # never ends, so the child has to notice by its parent's id.
    with _parent(tmp_path, "with a sibling") as parent:
        child, data_dir, _ = _greeting(parent)
        siblings = _children_of(parent.pid) - {child}
        parent.kill()
        parent.wait()
        wait_until(lambda: not is_alive(child), "the child lives on")
        assert not data_dir.exists()
        for each in siblings:
            os.kill(each, signal.SIGKILL)


def test_ctrl_c_at_the_terminal_is_for_the_parent_to_act_on() -> None:
    with barnabas.Broker(process=True) as broker:
        os.kill(child_of(broker), signal.SIGINT)
        assert broker.create_topic("t") == "t"


def test_a_child_that_was_killed_comes_back_with_its_data() -> None:
    with barnabas.Broker(process=True) as broker:
        broker.create_topic("kept")
        port, child = broker.port, child_of(broker)
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: not broker.link.is_open, "the child survives SIGKILL")
        with pytest.raises(RuntimeError, match="the broker's process has ended with exit code -9"):
            broker.clock.now_ms()
        broker.start()
        assert child_of(broker) != child
        assert broker.port == port
        with RawClient(port) as client:
            topics = client.call(MetadataRequest(topics=None), 9).topics
        assert [topic.name for topic in topics] == ["kept"]
        data_dir = broker.data_dir
    assert not data_dir.exists()


def test_a_killed_child_leaves_no_folder_when_the_broker_is_stopped() -> None:
    broker = barnabas.Broker(process=True).start()
    data_dir = broker.data_dir
    os.kill(child_of(broker), signal.SIGKILL)
    broker.stop()
    assert not data_dir.exists()


def test_a_child_that_cannot_even_import_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.server.testing.process_link.PROGRAM", "import sys; sys.exit(3)")
    with pytest.raises(RuntimeError, match="ended with exit code 3 as it started"):
        barnabas.Broker(process=True).start()


def test_the_broker_works_while_the_test_keeps_its_interpreter_busy() -> None:
    with barnabas.Broker(process=True) as broker, RawClient(broker.port) as client:
        client.send(MetadataRequest(topics=None), 9)
        client.sock.setblocking(False)
        wait_until(partial(comes_while_busy, client), "no answer")


def comes_while_busy(client: RawClient) -> bool:
    """Whether something has come once this interpreter has been busy for a while."""
    busy_until = time.monotonic() + 0.2
    while time.monotonic() < busy_until:
        pass
    try:
        return client.sock.recv(1 << 16) != b""
    except BlockingIOError:
        return False


def _parent(tmp_path: Path, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, how],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[3],
    )


def _greeting(parent: "subprocess.Popen[str]") -> tuple[int, Path, int]:
    assert parent.stdout is not None
    child, data_dir, port = parent.stdout.readline().split()
    assert Path(data_dir).is_dir()
    assert is_alive(int(child))
    return int(child), Path(data_dir), int(port)


def _children_of(process_id: int) -> set[int]:
    text = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    return {int(each) for each in text.split()}
