"""`kill -9` of a real writer at random times, again and again on the same directory."""

import random
import subprocess
import sys
import time
from pathlib import Path

from .kill_writer import check

ROUNDS = 50
"""`scripts/crash --rounds 500` does more of the same."""


def test_a_killed_writer_has_kept_its_promises(tmp_path: Path) -> None:
    chance = random.Random(1)
    promises: dict[str, int] = {}
    for number in range(ROUNDS):
        round_of_killing(tmp_path, number, chance, promises)


def round_of_killing(
    directory: Path, seed: int, chance: random.Random, promises: dict[str, int]
) -> None:
    """Let a writer write for a moment, kill it, and check all that was promised until then."""
    writer = subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).with_name("kill_writer.py")),
            str(directory),
            str(seed),
        ],
        stdout=subprocess.PIPE,
    )
    with writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline()]
        time.sleep(chance.uniform(0, 0.1))
        writer.kill()
        lines += writer.stdout.readlines()
    assert lines[0], f"the writer with seed {seed} could not begin"
    for line in lines:
        if line.endswith(b"\n"):
            topic, end = line.decode().split()
            promises[topic] = int(end)
    try:
        check(directory, promises)
    except BaseException as error:
        error.add_note(f"after the writer with seed {seed}")
        raise
