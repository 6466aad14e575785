"""Data directories with as much to recover as is worth a child."""

import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import FileSystem
from barnabas.storage.errors import LogDirectoryLocked
from barnabas.storage.loading.unopened_logs import WORTH_A_CHILD_BYTES
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager

from ..managers import NOW_MS, ORDERS, append, opened

LOGS = 3
BATCH_BYTES = 100_000
BATCHES = 1 + WORTH_A_CHILD_BYTES // LOGS // BATCH_BYTES
STARTED = "recovering 3 logs, 8 MB to read"


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Three large logs and a small one; the first large one ends with a torn batch."""
    manager = opened(tmp_path)
    for partition in ORDERS[:LOGS]:
        log = manager.create(partition, LogConfig(), NOW_MS)
        for number in range(BATCHES):
            append(log, b"x" * BATCH_BYTES, sequence=number)
    append(manager.create(ORDERS[3], LogConfig(), NOW_MS), b"small")
    manager.abandon()
    with (tmp_path / str(ORDERS[0]) / f"{0:020d}.log").open("ab") as file:
        file.write(b"torn")
    return tmp_path


def check(manager: LogManager) -> None:
    """Everything is as it was, and said of every log."""
    for partition in ORDERS[:LOGS]:
        log = manager.get(partition)
        assert log is not None and log.log_end_offset == BATCHES
        assert log.load_report.recovered_segments == [0]
        assert log.recovery_point == 0
        (producer,) = log.producer_entries()
        assert producer.last_sequence == BATCHES - 1
        append(log, b"next", sequence=BATCHES)
    small = manager.get(ORDERS[3])
    assert small is not None and small.load_report.recovered_segments == [0]
    torn = manager.get(ORDERS[0])
    assert torn is not None and torn.load_report.truncated_bytes == 4


def test_a_child_recovers_what_is_much(crashed: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    manager = opened(crashed)
    assert STARTED in caplog.messages
    cut = f"cut 4 bytes behind offset {BATCHES}"
    assert f"{crashed}/{ORDERS[0]}: {cut}" in caplog.messages
    check(manager)
    log = manager.get(ORDERS[0])
    assert log is not None and log.load_report.notes == [cut]
    manager.close()


def test_without_a_child_it_is_done_in_place_and_said(
    crashed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    manager = opened(crashed)
    check(manager)
    for partition in ORDERS[:LOGS]:
        log = manager.get(partition)
        assert log is not None
        assert any("recovered in place" in note for note in log.load_report.notes)
    manager.close()


def test_other_file_calls_than_the_real_ones_stay_here(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    manager = opened(crashed, fs=FileSystem())
    assert STARTED not in caplog.messages
    check(manager)
    manager.close()


def test_after_a_clean_stop_a_lost_index_is_made_anew_by_a_child(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(crashed).close()
    for partition in ORDERS[:LOGS]:
        (crashed / str(partition) / f"{0:020d}.index").unlink()
    caplog.set_level(logging.INFO)
    manager = opened(crashed)
    assert STARTED in caplog.messages
    for partition in ORDERS[:LOGS]:
        log = manager.get(partition)
        assert log is not None and log.load_report.recovered_segments == [0]
        assert log.load_report.notes == [f"{0:020d}.log lacks an index"]
        assert len(log.segments.first.offset_index.entries()) > 10
    manager.close()


def test_a_damaged_index_that_only_opening_shows_goes_to_a_child_too(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(crashed).close()
    for partition in ORDERS[:LOGS]:
        with (crashed / str(partition) / f"{0:020d}.index").open("ab") as file:
            file.write(b"odd")
    caplog.set_level(logging.INFO)
    manager = opened(crashed)
    assert STARTED in caplog.messages
    for partition in ORDERS[:LOGS]:
        log = manager.get(partition)
        assert log is not None and log.load_report.recovered_segments == [0]
        (note,) = log.load_report.notes
        assert "are not whole entries" in note
    manager.close()


# Opens a data directory with much to recover.
STARTER = """
import subprocess
import sys
import time
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
print("starting", flush=True)
LogManager([sys.argv[1]]).open(lambda topic: LogConfig(), 0)
sys.stdin.read()
"""


@pytest.mark.parametrize("after_seconds", [0.05, 0.15, 0.3])
def test_a_start_that_is_killed_half_way_is_made_again(crashed: Path, after_seconds: float) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(crashed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with starter:
        assert starter.stdout is not None
        starter.stdout.readline()
        time.sleep(after_seconds)  # somewhere in the middle is the point
        starter.kill()
    deadline = time.monotonic() + 20
    while True:
        try:
            manager = opened(crashed)
            break
        except LogDirectoryLocked:  # by the child, which is about to notice
            assert time.monotonic() < deadline
            time.sleep(0.01)
    for partition in ORDERS[:LOGS]:
        log = manager.get(partition)
        assert log is not None and log.log_end_offset == BATCHES
        (producer,) = log.producer_entries()
        assert producer.last_sequence == BATCHES - 1
        assert len(log.segments.first.offset_index.entries()) == BATCHES - 1
    manager.close()


def test_a_replay_that_only_a_damaged_snapshot_asks_for_goes_to_a_child_too(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    opened(crashed).close()
    name = f"{BATCHES:020d}.snapshot"
    for partition in ORDERS[:LOGS]:
        path = crashed / str(partition) / name
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
    caplog.set_level(logging.INFO)
    manager = opened(crashed)
    assert STARTED in caplog.messages
    for partition in ORDERS[:LOGS]:
        log = manager.get(partition)
        assert log is not None and log.load_report.recovered_segments == []
        assert log.load_report.notes == [f"{name}: wrong CRC; it is not used"]
        (producer,) = log.producer_entries()
        assert producer.last_sequence == BATCHES - 1
    manager.close()
