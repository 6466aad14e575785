"""Sweeps done a slice at a time: how much in one, and whose turn it is."""

from collections.abc import Iterator

from barnabas.storage.log_config import FOREVER
from barnabas.storage.manager.sweeps import LOOK, WAIT, Task, Tasks


def test_a_sweep_is_done_in_slices_and_again_an_interval_later() -> None:
    done: list[int] = []

    def sweep() -> Iterator[int]:
        for part in range(2):
            done.append(part)
            yield LOOK

    task = Task(100, sweep)
    assert task.run(1_000, 1) == 0
    assert done == [] and task.due_ms == FOREVER
    task.due_ms = 1_000
    assert task.run(1_000, 1) == LOOK
    assert done == [0] and task.due_ms == 1_000
    task.run(1_001, 1)
    assert done == [0, 1]
    task.run(1_002, 1)
    assert task.due_ms == 1_102
    task.run(1_101, 1)
    assert len(done) == 2
    task.run(1_102, 10)
    assert done[2:] == [0, 1] and task.due_ms == 1_202


def _tasks(*costs: int) -> tuple[Tasks, list[int]]:
    """Endless sweeps whose steps cost so much; which of them made each step."""
    steps: list[int] = []

    def sweep_of(number: int, cost: int) -> Task:
        def sweep() -> Iterator[int]:
            while True:
                steps.append(number)
                yield cost

        return Task(100, sweep)

    tasks = Tasks([sweep_of(*each) for each in enumerate(costs)], on_failure=steps.clear)
    tasks.start(0, 0)
    return tasks, steps


def test_sweeps_share_a_slice_and_take_turns() -> None:
    tasks, steps = _tasks(1, 5)
    for _ in range(4):
        tasks.run(1_000, 10)
    assert steps == [0] * 10 + [1] * 2 + [0] * 10 + [1] * 2


def test_a_sweep_that_waits_leaves_the_slice_to_the_others() -> None:
    tasks, steps = _tasks(WAIT, 5)
    for _ in range(2):
        tasks.run(1_000, 10)
    assert steps == [0, 1, 1, 0, 1, 1]
