"""`barnabas produce`: lines, CSV rows or JSON lines become the records of a topic."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from barnabas.server.cli.completion import complete_topics
from barnabas.server.cli.config_requests import TOPIC, Resource, settings_of
from barnabas.server.cli.connection import (
    Cluster,
    bootstrap_option,
    client_option,
    client_settings_of,
    connected,
    json_option,
    kafka,
    named_values,
    sentences,
)
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.input_records import CSV, JSON_LINES, LINES, Columns, records_of
from barnabas.server.cli.output import note, print_json
from barnabas.server.cli.progress import Progress, progress_over

LINGER_MS = 20
BATCH_BYTES = 900 * 1024
CAUTIOUS_BATCH_BYTES = 16 * 1024
BUFFER_TIMEOUT_MS = 30_000
STANDARD_INPUT = "standard input"
file_type = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.option("--lines", "lines_file", type=file_type, metavar="FILE", help="A record per line.")
@click.option("--csv", "csv_file", type=file_type, metavar="FILE",
              help="A JSON object per row; the first row names the columns.")  # fmt: skip
@click.option("--jsonl", "json_file", type=file_type, metavar="FILE", help="A JSON value per line.")
@click.option("--key", default="", metavar="COLUMN", help="The column that is the key.")
@click.option("--value", default="", metavar="COLUMN", help="Send this column alone.")
@click.option("--timestamp", default="", metavar="COLUMN",
              help="The column that is the time: milliseconds or ISO 8601.")  # fmt: skip
@click.option("--delimiter", default=",", help="Between CSV columns; \\t for a tab.")
@click.option("--key-separator", default="", metavar="TEXT",
              help="Lines: what stands between key and value.")  # fmt: skip
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="On every record.")
@click.option("--partition", type=click.IntRange(0), help="To this one; by key without it.")
@click.option("--acks", type=click.Choice(["all", "1", "0"]), default="all", show_default=True)
@click.option("--compression", default="none", show_default=True,
              type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]))  # fmt: skip
@click.option("--create", is_flag=True, help="Create the topic if it does not exist.")
@bootstrap_option
@client_option
@json_option
def produce(
    topic: str, lines_file: Path | None, csv_file: Path | None, json_file: Path | None,
    key: str, value: str, timestamp: str, delimiter: str, key_separator: str,
    headers: tuple[str, ...], partition: int | None, acks: str, compression: str, create: bool,
    bootstrap: str, client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Send records to TOPIC, from a file or from the standard input.

    Without --lines, --csv or --jsonl lines are read from the standard input; FILE may be -.
    With --json the summary is one object on the standard output.

    \b
    echo hello | barnabas produce greetings
    barnabas produce flights --csv flights.csv --key carrier --compression lz4
    barnabas produce orders --jsonl orders.jsonl --key customer --header source=import
    """
    form, path = _source({LINES: lines_file, CSV: csv_file, JSON_LINES: json_file})
    columns = Columns(key, value, timestamp, _delimiter(delimiter), key_separator)
    _check_columns(form, columns)
    fixed = [(name, text.encode()) for name, text in named_values(headers, "--header").items()]
    settings = client_settings_of(bootstrap, client_settings) | _producer_settings(
        acks, compression
    )
    with _opened(path) as (file, name):
        limit = _check_topic(bootstrap, client_settings, topic, partition, create=create)
        settings["batch_size"] = min(BATCH_BYTES, limit)
        with sentences(bootstrap), progress_over(file, quiet=as_json) as progress:
            sending = Sending(settings, topic, partition, fixed)
            sending.send_all(records_of(file, name, form, columns), progress)
    summary = sending.summary()
    if as_json:
        print_json(summary)
    else:
        _say(summary)


class Sending:
    """One run of records through a producer; the first that is refused ends it."""

    def __init__(
        self, settings: dict[str, Any], topic: str, partition: int | None,
        headers: list[tuple[str, bytes]],
    ) -> None:  # fmt: skip
        self._topic, self._partition, self._headers = topic, partition, headers
        self._settings = settings
        self._count = self._bytes = 0
        self._started_s = time.monotonic()
        self._elapsed_s = 0.0
        self._refused: list[BaseException] = []

    def send_all(self, records: Iterator[Any], progress: Progress) -> None:
        """Send every record and wait until all are acknowledged."""
        producer = kafka().KafkaProducer(**self._settings)
        try:
            self._send(producer, records, progress)
        except BadInput as error:
            producer.close()
            sent = f"; what is before it was sent: {self._count:,} records" if self._count else ""
            raise BadInput(error.message + sent) from error
        except BaseException:
            producer.close(timeout=2)
            raise
        producer.close()
        self._elapsed_s = time.monotonic() - self._started_s
        self._check()

    def _send(self, producer: Any, records: Iterator[Any], progress: Progress) -> None:
        send, topic, partition, headers = producer.send, self._topic, self._partition, self._headers
        for record in records:
            if record.key is None and record.value is None:
                raise BadInput(f"record {self._count + 1}: a record needs a key or a value")
            future = send(topic, record.value, record.key, headers, partition, record.timestamp_ms)
            future.add_errback(self._refused.append)
            size_bytes = len(record.value or b"") + len(record.key or b"")
            self._count += 1
            self._bytes += size_bytes
            progress.advance()
            if self._refused:
                break
        producer.flush()
        self._check()

    def _check(self) -> None:
        if self._refused:
            raise Failure(f"the broker refused a record for {self._topic}: {self._refused[0]}")

    def summary(self) -> dict[str, Any]:
        """What was sent."""
        seconds = round(self._elapsed_s, 3)
        rate = round(self._count / self._elapsed_s) if self._elapsed_s else 0
        return {
            "topic": self._topic,
            "records": self._count,
            "bytes": self._bytes,
            "seconds": seconds,
            "records_per_second": rate,
        }


def _source(files: dict[str, Path | None]) -> tuple[str, Path]:
    given = [(form, path) for form, path in files.items() if path is not None]
    if len(given) > 1:
        raise BadInput("--lines, --csv, --jsonl: only one of them at a time")
    return given[0] if given else (LINES, Path("-"))


def _delimiter(text: str) -> str:
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise BadInput(f"--delimiter: {text!r} is not one character, as in ';' or \\t")
    return text


def _check_columns(form: str, columns: Columns) -> None:
    if form == LINES and (columns.key or columns.value or columns.timestamp):
        raise BadInput("--key, --value, --timestamp: lines have no columns; --csv and --jsonl have")
    if form != LINES and columns.key_separator:
        raise BadInput("--key-separator: is for lines; --key COLUMN is for --csv and --jsonl")


def _producer_settings(acks: str, compression: str) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "acks": acks if acks == "all" else int(acks),
        "linger_ms": LINGER_MS,
        "max_block_ms": BUFFER_TIMEOUT_MS,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    }
    if acks != "all":
        settings["enable_idempotence"] = False
    if compression != "none":
        settings["compression_type"] = compression
        _check_codec(compression)
    return settings


def _check_codec(compression: str) -> None:
    if not getattr(kafka("codec"), f"has_{compression}")():
        package = {"snappy": "python-snappy", "zstd": "zstandard"}.get(compression, compression)
        raise Failure(f"--compression {compression}: needs `pip install {package}`")


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    if str(path) == "-":
        if sys.stdin.isatty():
            note("one record per line; Ctrl-D ends")
        yield sys.stdin.buffer, STANDARD_INPUT
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise BadInput(f"{path}: {(error.strerror or 'cannot be read').lower()}") from error
    with file:
        yield file, str(path)


def _check_topic(
    bootstrap: str, client_settings: tuple[str, ...], topic: str, partition: int | None,
    *, create: bool,
) -> int:  # fmt: skip
    """Make sure that TOPIC can take the records; the bytes of the largest batch it takes."""
    with connected(bootstrap, client_settings) as cluster:
        if create:
            _create(cluster, topic)
        count = len(cluster.topic(topic)["partitions"])
        limit = _batch_limit_bytes(cluster, topic)
    if partition is not None and partition >= count:
        raise BadInput(f"--partition: {topic} has no partition {partition}, only 0 to {count - 1}")
    return limit


def _batch_limit_bytes(cluster: Cluster, topic: str) -> int:
    """What the topic says; kafka-python splits a refused batch, and then loses its futures."""
    try:
        found = settings_of(cluster, Resource(TOPIC, topic), ["max.message.bytes"])
    except Failure:
        return CAUTIOUS_BATCH_BYTES  # not everybody may see settings
    return int(found[0]["value"])


def _create(cluster: Cluster, topic: str) -> None:
    if topic not in cluster.topics():
        cluster.admin.create_topics([topic])
        cluster.admin.wait_for_topics([topic])


def _say(summary: dict[str, Any]) -> None:
    note(
        f"{summary['records']:,} records, {summary['bytes'] / 1e6:,.1f} MB"
        f" in {summary['seconds']:.1f} s ({summary['records_per_second']:,} records/s)"
        f" to {summary['topic']}"
    )
