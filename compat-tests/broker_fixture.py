"""The broker that the client tests talk to, as fixtures.

BARNABAS_TEST_BOOTSTRAP names one that is running already: that is how the same tests are
proved against Apache Kafka. Without it a Barnabas is started as a child process. The broker
needs `group.initial.rebalance.delay.ms=0` and `group.min.session.timeout.ms=500`, and
`transaction.abort.timed.out.transaction.cleanup.interval.ms=200`, and `log.retention.ms=-1`:
records that are stamped years ago stay as long as their test takes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin
from clients import ClientPool
from oracles import running

SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=500",
    "log.retention.ms=-1",
    "offsets.topic.num.partitions=4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200",
    "transaction.state.log.num.partitions=4",
)


def start_command(listen: str, data_dir: Path, *settings: str) -> list[str]:
    """The command that starts a Barnabas for client tests."""
    command = [sys.executable, "-m", "barnabas", "start", "--listen", listen]
    command += ["--data-dir", str(data_dir)]
    for setting in (*SETTINGS, *settings):
        command += ["--set", setting]
    return command


@contextmanager
def running_barnabas(data_dir: Path, *settings: str) -> Iterator[str]:
    """Run `barnabas start` on a free port and yield its address."""
    command = start_command("127.0.0.1:0", data_dir, *settings)
    with (data_dir / "stderr").open("wb") as stderr, running(command, stderr) as process:
        yield _address_in_first_line(process, data_dir / "stderr")


def _address_in_first_line(process: subprocess.Popen[bytes], stderr: Path) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    found = re.search(r"127\.0\.0\.1:\d+", line)
    if found is None:
        pytest.fail(f"barnabas start printed {line!r}\n{stderr.read_text()[-3000:]}")
    return found[0]


@pytest.fixture(scope="session")
def broker_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the broker under test, `host:port`."""
    given = os.environ.get("BARNABAS_TEST_BOOTSTRAP")
    if given:
        yield given
        return
    with running_barnabas(tmp_path_factory.mktemp("barnabas")) as address:
        yield address


@pytest.fixture(scope="session")
def broker_admin(broker_address: str) -> BrokerAdmin:
    """Creates topics and asks for offsets."""
    return BrokerAdmin(broker_address)


@pytest.fixture(scope="session")
def clients(broker_address: str) -> Iterator[ClientPool]:
    """The client programs, kept from test to test."""
    pool = ClientPool(broker_address)
    yield pool
    pool.close()
