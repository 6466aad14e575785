"""A scripted workload that is stopped at every change it makes on the disk.

`python scripts/crash` does the same for every single change and every fault; here a part of
them, spread over the whole, so that the suite stays quick.
"""

from pathlib import Path

import pytest

from .crash_workload import Workload, let_go, verify
from .faulty_disk import Fault, FaultyDisk, Killed


def count_changes(folder: Path) -> int:
    """Run the workload to its end, check it, and see how many changes there are."""
    root = folder / "whole"
    root.mkdir()
    disk = FaultyDisk(root)
    workload = Workload(root, disk.fs)
    workload.run()
    assert workload.failed is None
    verify(workload, power_cut=False)
    return disk.changes


def strike(folder: Path, fault: Fault, at: int) -> None:
    """Run the workload into a fault, and check what is left."""
    root = folder / f"{fault.name}-{at}"
    root.mkdir()
    disk = FaultyDisk(root, fault, at)
    workload = Workload(root, disk.fs)
    try:
        workload.run()
    except Killed:
        pass
    let_go(workload)
    if fault is Fault.POWER:
        disk.cut_power()
    try:
        verify(workload, power_cut=fault is Fault.POWER)
    except BaseException as error:
        error.add_note(f"{fault.name} at change {at}: " + " | ".join(disk.trace[at - 3 : at + 1]))
        raise


STEPS = {
    Fault.KILL: 11, Fault.TEAR: 31, Fault.POWER: 23, Fault.EIO: 31, Fault.ONCE: 31, Fault.FULL: 31,
    Fault.SHORT: 41,
}  # fmt: skip


@pytest.mark.parametrize("fault", STEPS, ids=lambda fault: fault.name)
@pytest.mark.broker_says("its partitions are offline", always=False)
def test_whatever_happens_nothing_promised_is_lost(fault: Fault, tmp_path: Path) -> None:
    step = STEPS[fault]
    for at in range(step // 2, count_changes(tmp_path), step):
        strike(tmp_path, fault, at)
