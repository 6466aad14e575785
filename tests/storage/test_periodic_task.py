from collections.abc import Iterator

from barnabas.storage.log_config import FOREVER
from barnabas.storage.periodic_task import Task


def test_a_sweep_is_done_in_slices_and_again_an_interval_later() -> None:
    done: list[tuple[int, int]] = []

    def sweep(now_ms: int) -> Iterator[None]:
        for part in range(2):
            done.append((now_ms, part))
            yield

    task = Task(100, sweep)
    task.run(1_000)
    assert done == [] and task.due_ms == FOREVER
    task.due_ms = 1_000
    task.run(1_000)
    assert done == [(1_000, 0)] and task.due_ms == 1_000
    task.run(1_001)
    assert done == [(1_000, 0), (1_000, 1)]
    task.run(1_002)
    assert task.due_ms == 1_102
    task.run(1_101)
    assert len(done) == 2
    task.run(1_102)
    assert done[2:] == [(1_102, 0)]
