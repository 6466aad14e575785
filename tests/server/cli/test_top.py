"""`barnabas top`: what it counts, and how its screen looks at 60 and 120 columns."""

import fcntl
import io
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from barnabas.server.cli import top_samples
from barnabas.server.cli.top_samples import Changes, Sample, Sampler, connections_of
from barnabas.server.cli.top_screen import drawn
from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run
from tests.server.waiting import wait_until

PATIENCE_S = 60


def sample(at_s: float, end: int, committed: int, **changes: Any) -> Sample:
    place = ("orders", 0)
    whole = Sample(
        at_s, {place: 0, ("a-topic-with-a-rather-long-name.and.some.more", 0): 0},
        {place: 0}, {place: end}, {("orders", 0, 0): end * 100},
        {"billing": {"group": "billing", "state": "Stable", "members": 2}},
        {"billing": {place: committed}},
        [{"node_id": 0, "host": "127.0.0.1", "port": 9092}], {0: 7},
    )  # fmt: skip
    return whole._replace(**changes)


def test_rates_lag_and_connections() -> None:
    changes = Changes(sample(10.0, 100, 50), sample(12.0, 300, 90))
    busiest, other = changes.topics()
    assert busiest == {
        "topic": "orders", "partitions": 1, "records_per_s": 100, "bytes_per_s": 10_000,
        "records": 300, "bytes": 30_000,
    }  # fmt: skip
    assert other["records_per_s"] == 0
    assert changes.groups() == [
        {"group": "billing", "state": "Stable", "members": 2, "read_per_s": 20, "lag": 210,
         "lag_per_s": 80}
    ]  # fmt: skip
    (broker,) = changes.brokers()
    assert (broker["leads"], broker["bytes"], broker["connections"]) == (2, 30_000, 7)


def test_a_topic_that_was_trimmed_or_made_again_is_never_below_nothing() -> None:
    changes = Changes(sample(10.0, 500, 400), sample(12.0, 100, 50))
    assert [row["records_per_s"] for row in changes.topics()] == [0, 0]
    assert changes.groups()[0]["read_per_s"] == 0


def test_what_was_not_to_be_had_before_has_no_rate() -> None:
    untold = sample(10.0, 0, 50)._replace(ends={}, sizes={}, committed={}, groups={})
    _, row = Changes(untold, sample(12.0, 2_500_000, 90)).topics()
    assert (row["records"], row["records_per_s"], row["bytes_per_s"]) == (2_500_000, 0, 0)
    (group,) = Changes(untold, sample(12.0, 2_500_000, 90)).groups()
    assert (group["lag"], group["lag_per_s"]) == (2_499_910, 0)
    new = untold._replace(leaders={})
    assert Changes(new, sample(12.0, 300, 90)).topics()[0]["records_per_s"] == 150


class Brokers:
    """A cluster without topics and groups, and its administrator."""

    def __init__(self, *ids: int) -> None:
        self.ids, self.admin = ids, self

    def describe(self) -> dict[str, Any]:
        return {"brokers": [{"node_id": n, "host": "h", "port": n} for n in self.ids]}

    def topics(self) -> dict[str, Any]:
        return {}

    def list_groups(self) -> list[Any]:
        return []

    def describe_log_dirs(self, *_: object) -> list[dict[str, Any]]:
        return [{"log_dirs": []}]


def test_connections_are_of_the_broker_whose_metrics_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = {"a:1": 1, "b:1": None, "c:1": 3}
    monkeypatch.setattr(top_samples, "connections_of", counts.get)
    cluster = Brokers(4, 2, 0)
    sampler = Sampler(cluster, tuple(counts), internal=False)  # type: ignore[arg-type]

    def shown() -> list[tuple[int, int | None]]:
        now = sampler.look()
        return [(row["broker"], row["connections"]) for row in Changes(now, now).brokers()]

    assert shown() == [(0, 1), (2, None), (4, 3)]
    cluster.ids = (4, 2)
    assert shown() == [(2, None), (4, 3)]


def test_every_group_is_looked_at(
    broker: Broker, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(top_samples, "GROUPS_AT_ONCE", 2)
    broker.create_topic("read-by-many", 1)
    run("produce", "read-by-many", stdin="a\nb\nc\n")
    for number in range(5):
        move = ("groups", "reset-offsets", f"many-{number}", "--topic", "read-by-many", "--yes")
        assert run(*move, "--to-offset", "0" if number == 4 else "2").code == 0
    rows = [row for row in run("top", "--interval", "0.2", "--json").rows if row["kind"] == "group"]
    found = [(row["group"], row["lag"]) for row in rows if row["group"].startswith("many-")]
    assert found == [("many-4", 3), *((f"many-{number}", 1) for number in range(4))]


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("height", [10, 40])
def test_the_screen_fits(width: int, height: int) -> None:
    before, now = sample(10.0, 100, 50), sample(12.0, 300, 90)
    many = {f"group-{n}": {"group": f"group-{n}", "state": "Empty", "members": 0}
            for n in range(60)}  # fmt: skip
    empty: dict[str, Any] = {name: {} for name in many}
    now = now._replace(groups=now.groups | many, committed=now.committed | empty)
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(drawn(Changes(before, now), "127.0.0.1:9092", width, height))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= max(height, 12)
    text = "\n".join(lines)
    assert "orders" in text and "records/s" in text and "billing" in text
    assert ("lag/s" in text) == (width == 120)


def test_rows_for_a_pipe(broker: Broker, run: Run) -> None:
    broker.create_topic("watched", 2)
    run("produce", "watched", stdin="a\nb\n")
    outcome = run("top", "--interval", "0.3", "--json")
    assert outcome.code == 0
    (row,) = [row for row in outcome.rows if row.get("topic") == "watched"]
    assert (row["kind"], row["partitions"], row["records"]) == ("topic", 2, 2)
    assert [row["broker"] for row in outcome.rows if row["kind"] == "broker"] == [0]
    assert "RECORDS PER S" in run("top", "--interval", "0.3").stdout
    for address in ("x", "localhost:²", "localhost:99999"):
        refused = run("top", "--metrics", address)
        assert (refused.code, refused.is_one_sentence()) == (2, True)


def test_connections_are_read_from_metrics() -> None:
    with Broker(settings={"barnabas.http.port": "0"}, process=True) as other:
        address = other.control_url.removeprefix("http://")
        assert connections_of(address) == 0
        with socket.create_connection(("127.0.0.1", other.port)):
            deadline_s = time.monotonic() + PATIENCE_S
            while connections_of(address) != 1:
                assert time.monotonic() < deadline_s
    assert connections_of(address) is None


def test_no_connections_where_nobody_speaks_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        asked = threading.Thread(target=answer_once, args=(server, b"SSH-2.0-OpenSSH_9.6\r\n"))
        asked.start()
        assert connections_of(f"127.0.0.1:{server.getsockname()[1]}") is None
        asked.join()


def answer_once(server: socket.socket, words: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(words)


class Top(NamedTuple):
    """`barnabas top` on a terminal, which is held by its other end."""

    process: subprocess.Popen[bytes]
    ours: int
    theirs: int


@contextmanager
def top_on_a_terminal(broker: Broker, term: str = "xterm-256color") -> Iterator[Top]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    command = [sys.executable, "-m", "barnabas", "top", "--interval", "0.3"]
    environment = {"BARNABAS_BOOTSTRAP": broker.bootstrap_servers, "TERM": term}
    process = subprocess.Popen(
        [*command], env=os.environ | environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    try:
        yield Top(process, ours, theirs)
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(ours)


@pytest.mark.parametrize(("ending", "code"), [("q", 0), ("SIGTERM", 143)])
def test_the_terminal_is_as_it_was(broker: Broker, run: Run, ending: str, code: int) -> None:
    run("topics", "create", "live", "--if-not-exists")
    with top_on_a_terminal(broker) as top:
        printed = read_until(top.ours, b"live")
        assert b"records/s" in printed
        assert not termios.tcgetattr(top.theirs)[3] & termios.ECHO
        if ending == "q":
            os.write(top.ours, b"q")
        else:
            top.process.send_signal(signal.SIGTERM)
        read_until(top.ours, b"\x1b[?1049l")  # the screen as it was
        assert top.process.wait(PATIENCE_S) == code
        assert termios.tcgetattr(top.theirs)[3] & termios.ECHO


def test_a_terminal_that_cannot_be_drawn_on_has_rows(broker: Broker) -> None:
    with top_on_a_terminal(broker, term="dumb") as top:
        printed = read_until(top.ours, b"connections")
        printed += read_until(top.ours, b"connections")
    assert b"\x1b" not in printed


def test_the_view_goes_on_when_its_broker_is_back() -> None:
    with Broker() as broker, top_on_a_terminal(broker) as top:
        read_until(top.ours, b"B/s  lag 0")
        broker.kill()
        read_until(top.ours, b"no broker answers; trying again")
        broker.start()
        read_until(top.ours, b"B/s  lag 0")


def test_an_end_without_any_broker_is_one_sentence() -> None:
    with Broker() as broker:
        command = [sys.executable, "-m", "barnabas", "top", "--interval", "3", "--count", "1"]
        environment = os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap_servers}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: len(broker.requests.of("DESCRIBE_LOG_DIRS")) > 0)
        broker.kill()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert said.startswith("barnabas: no broker of the cluster at ") and said.count("\n") == 1


def read_until(fd: int, words: bytes) -> bytes:
    printed = b""
    deadline_s = time.monotonic() + PATIENCE_S
    while words not in printed:
        ready, _, _ = select.select([fd], [], [], max(deadline_s - time.monotonic(), 0))
        assert ready, printed
        printed += os.read(fd, 4096)
    return printed
