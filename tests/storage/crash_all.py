"""The long form of the crash tests: `scripts/crash`.

Strikes with every fault at every change the scripted workload makes, then kills a real writer
as often as asked. Ends at the first thing that is not as it must be, with its traceback.
"""

import argparse
import logging
import random
import shutil
import tempfile
from pathlib import Path

from .faulty_disk import Fault
from .manager import test_struck_moves
from .test_crash import count_changes, strike
from .test_kill import round_of_killing


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="how often to kill a writer")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--no-faults", action="store_true", help="only kill")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        if not chosen.no_faults:
            strike_everywhere(Path(folder))
            strike_moves(Path(folder))
        kill(Path(folder) / "killed", chosen.rounds, chosen.seed)


def strike_everywhere(folder: Path) -> None:
    changes = count_changes(folder)
    for fault in Fault:
        for at in range(changes if fault is not Fault.NONE else 0):
            strike(folder, fault, at)
            shutil.rmtree(folder / f"{fault.name}-{at}")
        print(f"{fault.value}: {changes} places", flush=True)


def strike_moves(folder: Path) -> None:
    """The same for a move between data directories."""
    for fault in test_struck_moves.STEPS:
        changes = test_struck_moves.strike_everywhere(folder / f"moves-{fault.name}", fault)
        print(f"a move, {fault.value}: {changes} places", flush=True)


def kill(directory: Path, rounds: int, seed: int) -> None:
    """One directory serves for twenty rounds, so that damage could add up."""
    print(f"killing a writer {rounds} times, seed {seed}", flush=True)
    chance = random.Random(seed)
    for number in range(rounds):
        if number % 20 == 0:
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            promises: dict[str, int] = {}
        round_of_killing(directory, seed + number, chance, promises)
    print("nothing promised was lost")


if __name__ == "__main__":
    main()
