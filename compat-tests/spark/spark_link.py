"""The tests' end of the pipe to the Spark program, and the rows and failures that come back."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from oracles import require_oracle, require_package, require_program, running

Headers = tuple[tuple[str, bytes | None], ...]
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_names = itertools.count()


class Row(NamedTuple):
    """A row of the Kafka source."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Sent(NamedTuple):
    """A row for the Kafka sink."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    topic: str | None = None


class SparkFailure(Exception):
    """Spark has refused or failed a command: its error condition, if it has one, and its text."""

    def __init__(self, condition: str | None, text: str) -> None:
        super().__init__(text)
        self.condition = condition
        self.text = text


class Batch(NamedTuple):
    """What one query, or one micro-batch, has read; `tasks` says how many rows each task."""

    rows: list[Row]
    tasks: list[int]

    @property
    def values(self) -> list[bytes | None]:
        return [row.value for row in self.rows]

    @property
    def offsets(self) -> list[int]:
        return [row.offset for row in self.rows]


class Stream(NamedTuple):
    """What a streaming query has had."""

    batches: list[Batch]
    progress: list[dict[str, Any]]
    failure: SparkFailure | None

    @property
    def rows(self) -> list[Row]:
        """All rows, those of a partition in the order in which they came."""
        every = itertools.chain.from_iterable(batch.rows for batch in self.batches)
        return sorted(every, key=lambda row: (row.topic, row.partition))

    @property
    def values(self) -> list[bytes | None]:
        return [row.value for row in self.rows]

    @property
    def sizes(self) -> list[int]:
        """Rows by micro-batch."""
        return [len(batch.rows) for batch in self.batches]


class Spark:
    """Sends one command at a time to the program and returns its answer."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log
        self._answered = True

    def __call__(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._answered, "Spark is still at what an earlier test has given up"
        self._answered = False
        self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"Spark ended\n{self._log.read_text()[-3000:]}"
        self._answered = True
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SparkFailure(answer["condition"], answer["error"])
        return answer

    def read(self, topic: str = "", **options: object) -> Batch:
        """Read a batch, headers as well; `options` are the source's, `kafka_x` for `kafka.x`."""
        return _batch(self("rows", options=_source(topic, options)))

    def count(self, topic: str, **options: object) -> int:
        """How many rows a batch has."""
        return int(self("count", options=_source(topic, options))["count"])

    def write(self, sent: Sequence[Sent], columns: Sequence[str], **options: object) -> None:
        """Write rows through the sink by these columns of them."""
        rows = [
            (_text(key), _text(value), [(name, _text(it)) for name, it in headers], *where)
            for key, value, headers, *where in sent
        ]
        self("write", sent=rows, columns=columns, options=_named(options))

    def run(
        self, checkpoint: Path, topic: str = "", once: bool = False, **options: object
    ) -> Stream:
        """Stream what is there, from the start if the checkpoint is new, and come to the end."""
        trigger = {"once": True} if once else {"availableNow": True}
        with self.stream(checkpoint, topic, trigger=trigger, **options) as running:
            found = running.wait()
        return found

    def forward(
        self,
        topic: str,
        columns: Sequence[str],
        sink: Mapping[str, str],
        trigger: Mapping[str, object],
        rows: int | None = None,
        mode: str = "append",
        **options: object,
    ) -> None:
        """Stream these columns of a topic into the sink, to the end, or until it has so many."""
        self(
            "forward",
            options=_source(topic, {"startingOffsets": "earliest"} | options),
            columns=columns,
            sink=sink,
            trigger=trigger,
            rows=rows,
            mode=mode,
        )

    @contextmanager
    def stream(
        self,
        checkpoint: Path,
        topic: str = "",
        *,
        trigger: Mapping[str, object] | None = None,
        **options: object,
    ) -> Iterator[RunningStream]:
        """A query that runs for the length of a block, one micro-batch after the other."""
        name = f"stream-{next(_names)}"
        options = {"startingOffsets": "earliest"} | options
        if any("Timestamp" in option for option in options):
            del options["startingOffsets"]
        self(
            "start",
            name=name,
            options=_source(topic, options),
            checkpoint=str(checkpoint),
            trigger=trigger or {"processingTime": "0 seconds"},
        )
        running = RunningStream(self, name)
        try:
            yield running
        finally:
            running.stop()


class RunningStream:
    """A query in progress."""

    def __init__(self, spark: Spark, name: str) -> None:
        self._spark = spark
        self._name = name
        self._found: Stream | None = None

    def wait(self, rows: int | None = None) -> Stream:
        """Wait until so many rows have come in all, or until the query ends by itself."""
        return _stream(self._spark("wait", name=self._name, rows=rows))

    def settle(self) -> None:
        """Wait until it has all that there is, and its checkpoint says so."""
        self._spark("wait_for_trigger", name=self._name)

    def stop(self) -> Stream:
        """Stop it; all that it has had."""
        if self._found is None:
            self._found = _stream(self._spark("stop", name=self._name))
        return self._found


@contextmanager
def running_spark(address: str, log: Path) -> Iterator[Spark]:
    """The program, with its JVM, for the length of a block."""
    require_program("java")
    require_package("pyspark")
    program = Path(__file__).parent / "program.py"
    jars = require_oracle("jars-spark-4.2.0")
    command = [sys.executable, str(program), address, str(jars), *SHORT_LIVED]
    with log.open("wb") as stderr, running(command, stderr, modules=program.parent) as process:
        spark = Spark(process, log)
        spark.answer()
        yield spark


def _source(topic: str, options: Mapping[str, object]) -> dict[str, str]:
    named = _named({"includeHeaders": "true"} | options)
    return {"subscribe": topic, **named} if topic else named


def _named(options: Mapping[str, object]) -> dict[str, str]:
    """Options as Spark has them: kafka_group_id for kafka.group.id, JSON for dictionaries."""
    return {
        name.replace("_", "."): json.dumps(value) if isinstance(value, dict) else str(value)
        for name, value in options.items()
    }


def _batch(answer: Mapping[str, Any]) -> Batch:
    return Batch([_row(row) for row in answer["rows"]], answer["tasks"])


def _stream(answer: Mapping[str, Any]) -> Stream:
    failure = answer["failure"]
    return Stream(
        [_batch(batch) for batch in answer["batches"]],
        answer["progress"],
        failure and SparkFailure(failure["condition"], failure["text"]),
    )


def _row(row: Sequence[Any]) -> Row:
    *place, key, value, headers = row
    pairs = tuple((name, _bytes(it)) for name, it in headers)
    return Row(*place, _bytes(key), _bytes(value), pairs)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("latin-1")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1")
