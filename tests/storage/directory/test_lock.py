"""One owner at a time: within a process, between processes, and after a kill."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import LogDirectoryLocked

# Locks as Java's FileChannel does: a POSIX lock on the whole file.
POSIX_HOLDER = """
import fcntl, sys
file = open(sys.argv[1] + "/.lock", "w")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_second_owner_in_the_same_process_is_refused(tmp_path: Path) -> None:
    lock = DirectoryLock(REAL, str(tmp_path))
    with pytest.raises(LogDirectoryLocked, match=f"{tmp_path} is in use by another broker"):
        DirectoryLock(REAL, str(tmp_path))
    lock.release()
    lock.release()
    DirectoryLock(REAL, str(tmp_path)).release()


def test_a_lock_as_java_takes_it_excludes_us_until_its_process_dies(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", POSIX_HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"locked\n"
        with pytest.raises(LogDirectoryLocked):
            DirectoryLock(REAL, str(tmp_path))
        holder.kill()
        holder.wait()
        DirectoryLock(REAL, str(tmp_path)).release()


def test_our_lock_excludes_one_as_java_takes_it(tmp_path: Path) -> None:
    lock = DirectoryLock(REAL, str(tmp_path))
    refused = subprocess.run(
        [sys.executable, "-c", POSIX_HOLDER, str(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert b"BlockingIOError" in refused.stderr
    lock.release()
