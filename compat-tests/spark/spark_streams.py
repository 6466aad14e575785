"""Streaming queries that the tests start, wait for and stop; what each micro-batch had is kept."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery
from spark_rows import collected

PATIENCE_S = 90.0
PAUSE_S = 0.02
TEXT_SIZE = 4_000
KEPT_PROGRESS = ("batchId", "numInputRows")
OF_THE_SOURCE = ("startOffset", "endOffset", "latestOffset", "numInputRows", "metrics")


class Stream:
    """One query and the micro-batches it has had."""

    def __init__(self, frame: DataFrame, checkpoint: str, trigger: dict[str, Any]) -> None:
        self.batches: list[dict[str, Any]] = []
        self._failure: dict[str, Any] | None = None
        writer = frame.writeStream.option("checkpointLocation", checkpoint)
        self.query: StreamingQuery = writer.trigger(**trigger).foreachBatch(self._keep).start()

    def _keep(self, frame: DataFrame, number: int) -> None:
        try:
            self.batches.append({"id": number, **collected(frame)})
        except Exception as error:  # of which the query would tell the traceback only
            self._failure = failure_of(error)
            raise

    @property
    def row_count(self) -> int:
        """How many rows have come, repeated ones counted again."""
        return sum(len(batch["rows"]) for batch in self.batches)

    def wait_for(self, rows: int | None) -> None:
        """Wait until so many rows have come, or until the query ends by itself."""
        deadline = time.monotonic() + PATIENCE_S
        while self.query.isActive and (rows is None or self.row_count < rows):
            if time.monotonic() > deadline:
                self.query.stop()
                raise TimeoutError(f"{self.row_count} rows of {rows} have come")
            time.sleep(PAUSE_S)

    def found(self) -> dict[str, Any]:
        """Its micro-batches, its progress, and how it failed, if it did."""
        return {
            "batches": self.batches,
            "progress": [progress_of(each) for each in self.query.recentProgress],
            "failure": self._failure or _failure_of_query(self.query),
        }


def _failure_of_query(query: StreamingQuery) -> dict[str, Any] | None:
    error = query.exception()
    if error is None:
        return None
    thrown = query._jsq.exception().get()  # type: ignore[attr-defined]
    return {"condition": _condition(thrown), "text": str(error)[:TEXT_SIZE]}


def progress_of(progress: Any) -> dict[str, Any]:
    """Of a progress report what the Kafka source has said."""
    whole = progress.jsonValue if hasattr(progress, "jsonValue") else progress
    (source,) = whole["sources"]
    kept = {name: whole[name] for name in KEPT_PROGRESS}
    return kept | {name: source[name] for name in OF_THE_SOURCE if name in source}


def failure_of(error: BaseException) -> dict[str, Any]:
    """The innermost error condition that Spark names, if any, and the whole sentence."""
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    text = f"{type(error).__name__}: {error}"[:TEXT_SIZE]
    return {"condition": _condition(thrown), "text": text}


def _condition(thrown: Any) -> str | None:
    condition: str | None = None
    while thrown is not None:
        with suppress(Py4JError):  # not everything that is thrown is Spark's own
            condition = thrown.getCondition() or condition
        thrown = thrown.getCause()
    return condition
