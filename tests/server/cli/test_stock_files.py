"""`barnabas start --config FILE` with the files that Kafka ships: it serves, and says what not."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient
from tests.server.settings import stock_files


@contextmanager
def started(folder: Path, pairs: str) -> Iterator[subprocess.Popen[str]]:
    """A broker of a stock file, on a free port and in a folder of the test's."""
    file = folder / "server.properties"
    file.write_text(stock_files.as_file(pairs))
    arguments = ["start", "--config", str(file), "--data-dir", str(folder / "data")]
    for name in ("listeners", "advertised.listeners"):
        arguments += ["--set", f"{name}=PLAINTEXT://127.0.0.1:0"]
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("name", stock_files.KRAFT)
def test_a_file_for_kraft_starts_and_what_does_not_apply_is_said_once(
    tmp_path: Path, name: str
) -> None:
    with started(tmp_path, stock_files.KRAFT[name]) as broker:
        assert broker.stdout is not None
        line = broker.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:")
        with RawClient(int(line.split()[2].rpartition(":")[2])) as client:
            answer = client.call(MetadataRequest(topics=None), 9)
        assert [each.node_id for each in answer.brokers] in ([1], [2])
        broker.terminate()
        printed, said = broker.communicate(timeout=60)
    assert (broker.returncode, printed) == (0, "stopped\n")
    warnings = [each for each in said.splitlines() if " WARN " in each]
    assert sum("process.roles" in each for each in warnings) == 1
    assert len(warnings) == (2 if name.startswith("4") else 1), said


def test_the_file_for_zookeeper_says_what_to_do_when_none_is_there(tmp_path: Path) -> None:
    pairs = stock_files.ZOOKEEPER.replace("localhost:2181", "127.0.0.1:1").replace("18000", "300")
    with started(tmp_path, pairs) as broker:
        said = broker.communicate(timeout=60)[1]
    assert broker.returncode == 1
    last = said.splitlines()[-1]
    assert last.startswith("barnabas: no session with ZooKeeper in 300 ms")
    assert "`barnabas zookeeper`" in last and "zookeeper.connect=" in last
