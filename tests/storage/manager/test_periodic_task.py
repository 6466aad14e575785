from collections.abc import Iterator

from barnabas.storage.log_config import FOREVER
from barnabas.storage.manager.log_maintenance import Task

DAY_AGO_MS = -86_400_000  # by the wall clock, which tells nothing of what is due


def test_a_sweep_is_done_in_slices_and_again_an_interval_later() -> None:
    done: list[tuple[int, int]] = []

    def sweep(now_ms: int) -> Iterator[None]:
        for part in range(2):
            done.append((now_ms, part))
            yield

    task = Task(100, sweep)
    task.run(DAY_AGO_MS, 1_000)
    assert done == [] and task.due_ms == FOREVER
    task.due_ms = 1_000
    task.run(DAY_AGO_MS, 1_000)
    assert done == [(DAY_AGO_MS, 0)] and task.due_ms == 1_000
    task.run(DAY_AGO_MS, 1_001)
    assert done == [(DAY_AGO_MS, 0), (DAY_AGO_MS, 1)]
    task.run(DAY_AGO_MS, 1_002)
    assert task.due_ms == 1_102
    task.run(DAY_AGO_MS, 1_101)
    assert len(done) == 2
    task.run(DAY_AGO_MS, 1_102)
    assert done[2:] == [(DAY_AGO_MS, 0)]
