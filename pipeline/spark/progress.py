"""Progress bars of what Spark is doing, on the standard error.

A thread asks Spark's status tracker which stages run; a stream says how far it is itself.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from rich.progress import Progress, TaskID

LOOK_EVERY_S = 0.25
POLL_S = 1

_showing = threading.Event()


@contextmanager
def stage_bars(spark: "SparkSession", label: str, *, shown: bool) -> Iterator[None]:
    """A bar for what Spark works at, for the length of a block; one inside another adds none."""
    if not shown or _showing.is_set():
        yield
        return
    from pyspark import InheritableThread
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
    )
    stopped = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None)
        looking = InheritableThread(target=_look, args=(spark, bars, task, stopped))
        looking.start()
        _showing.set()
        try:
            yield
        finally:
            _showing.clear()
            stopped.set()
            looking.join()


def _look(spark: "SparkSession", bars: "Progress", task: "TaskID", stopped: Any) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not stopped.wait(LOOK_EVERY_S):
        try:
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        except Exception:
            return  # the session has ended, or its JVM: whoever waits for it is told
        known = [stage for stage in stages if stage is not None]
        if known:
            total = sum(stage.numTasks for stage in known)
            bars.update(task, total=total, completed=sum(s.numCompletedTasks for s in known))


def await_query(
    query: "StreamingQuery", on_batch: Callable[[dict[str, Any]], None] | None = None
) -> int:
    """Wait until a stream ends; the number of rows that it has read.

    `on_batch` is told of each batch's progress (StreamingQueryProgress as a dictionary). Raises
    what ended the stream; Ctrl-C stops the stream first.
    """
    rows = 0
    last_batch = -1
    try:
        while True:
            ended = query.awaitTermination(POLL_S)
            for progress in _new_batches(query, last_batch):
                last_batch = progress["batchId"]
                rows += progress["numInputRows"]
                if on_batch is not None:
                    on_batch(progress)
            if ended:
                return rows
    except BaseException:
        query.stop()
        raise


def _new_batches(query: "StreamingQuery", last_batch: int) -> list[dict[str, Any]]:
    """What the stream has done since; batches without rows are told now and then, and left out."""
    last = query.lastProgress
    if last is None or last["batchId"] <= last_batch:
        return []
    known = [json.loads(progress.json) for progress in query.recentProgress]
    return [told for told in known if told["batchId"] > last_batch and told["numInputRows"]]
