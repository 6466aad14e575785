"""`barnabas produce`: lines, CSV rows or JSON lines become the records of a topic."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from barnabas.server.cli.client_settings import ADMIN, PRODUCER, settings_for
from barnabas.server.cli.completion import complete_topics
from barnabas.server.cli.config_requests import TOPIC, Resource, settings_of
from barnabas.server.cli.connection import Cluster, common_settings, connected, sentences
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.input_records import (
    CSV,
    JSON_LINES,
    LINES,
    Columns,
    Header,
    Record,
    records_of,
)
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.line_formats import line_format
from barnabas.server.cli.offsets import places_of
from barnabas.server.cli.options import (
    bootstrap_option,
    client_option,
    json_option,
    named_pairs,
)
from barnabas.server.cli.output import counted, note, print_json
from barnabas.server.cli.progress import progress_over
from barnabas.server.cli.sending import Sending, Target
from barnabas.server.cli.signals import end_by_sigterm
from barnabas.server.cli.topics_option import chosen_topic, topic_option
from barnabas.server.cli.whole_numbers import whole_number

LINGER_MS = 20
RECONNECT_MOST_MS = 1000
BATCH_BYTES = 900 * 1024
CAUTIOUS_BATCH_BYTES = 16 * 1024
REQUEST_BYTES = 32 * 1024 * 1024
MOST_S = 1_000_000  # of --timeout
REQUEST_MS = 30_000  # kafka-python's own
ENVELOPE_BYTES = 64 * 1024  # what a record's request is larger than the record
STANDARD_INPUT = "standard input"
file_type = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.argument("argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@topic_option
@click.option("--lines", "lines_file", type=file_type, metavar="FILE", help="A record per line.")
@click.option("--csv", "csv_file", type=file_type, metavar="FILE",
              help="A JSON object per row; the first row names the columns.")  # fmt: skip
@click.option("--jsonl", "json_file", type=file_type, metavar="FILE", help="A JSON value per line.")
@click.option("--file", "whole_files", type=file_type, multiple=True, metavar="FILE",
              help="The whole file as one record; several times for more.")  # fmt: skip
@click.option("--format", "-f", "form", metavar="FORMAT",
              help="Lines: what they have where, as in '%k:%s' or '{key}:{value}'.")  # fmt: skip
@click.option("--key", "-k", default="", metavar="COLUMN|TEXT",
              help="The column that is the key; with lines the key of all.")  # fmt: skip
@click.option("--value", default="", metavar="COLUMN", help="Send this column alone.")
@click.option("--timestamp", default="", metavar="COLUMN",
              help="The column that is the time: milliseconds or ISO 8601.")  # fmt: skip
@click.option("--headers", "header_column", default="", metavar="COLUMN",
              help='The column with headers: {"name":"value"} or [["name","value"]].')  # fmt: skip
@click.option("--delimiter", default=",", help="Between CSV columns; \\t for a tab.")
@click.option("--key-separator", "-K", default="", metavar="TEXT",
              help="Lines: what stands between key and value; \\t for a tab.")  # fmt: skip
@click.option("--header", "-H", "headers", multiple=True, metavar="NAME=VALUE",
              help="On every record; a name may come again.")  # fmt: skip
@click.option("--partition", "-p", default="", metavar="N|COLUMN",
              help="To this one, or to that of the column; by key without it.")  # fmt: skip
@click.option("--tombstones", "-Z", is_flag=True, help="Send null for a value that is empty.")
@click.option("--acks", type=click.Choice(["all", "1", "0"]),
              help="Whose acknowledgement is waited for.  [default: all]")  # fmt: skip
@click.option("--compression", "-z", type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
              help="[default: none]")  # fmt: skip
@click.option("--timeout", "timeout_s", type=click.FloatRange(0, min_open=True), default=60,
              show_default=True, metavar="SECONDS",
              help="Give up when nothing is acknowledged for so long.")  # fmt: skip
@click.option("--create", is_flag=True, help="Create the topic if it does not exist.")
@bootstrap_option
@client_option
@json_option
def produce(
    argument: str | None, also_topics: tuple[str, ...], lines_file: Path | None,
    csv_file: Path | None, json_file: Path | None, whole_files: tuple[Path, ...],
    form: str | None, key: str, value: str,
    timestamp: str, header_column: str, delimiter: str, key_separator: str,
    headers: tuple[str, ...], partition: str, tombstones: bool, acks: str | None,
    compression: str | None, timeout_s: float, create: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Send records to TOPIC, from a file or from the standard input.

    Without --lines, --csv, --jsonl or --file lines are read from the standard input; FILE may be -.
    With --json the summary is one object on the standard output.

    A JSON line that `consume --json` has printed becomes the same record again: key, value,
    headers and time, byte for byte; with --partition partition in the same partition, too.
    In columns {"base64":"…"} stands for bytes. --lines sends JSON as it is.

    A format has %k key, %s value, %h headers (name=value,…), %p partition, %T time, or {key} and
    so on; the last part takes the rest of the line.

    \b
    echo hello | barnabas produce greetings
    barnabas produce flights --csv flights.csv --key carrier --compression lz4
    barnabas produce orders --jsonl orders.jsonl --key customer --header source=import
    barnabas produce orders --format '%k\\t%h\\t%s' --lines orders.tsv
    barnabas consume orders --json | barnabas produce orders.again --jsonl -
    """
    end_by_sigterm()
    if not timeout_s <= MOST_S:  # nan, too
        raise BadInput(f"--timeout: {timeout_s} is not a number of seconds up to {MOST_S}")
    topic = chosen_topic(argument, also_topics)
    kind, path = _source({LINES: lines_file, CSV: csv_file, JSON_LINES: json_file}, whole_files)
    number = whole_number(partition)
    columns = Columns(
        key, value, timestamp, header_column, "" if number is not None else partition,
        _delimiter(delimiter), key_separator, line_format(form) if form else None,
    )  # fmt: skip
    _check_columns(kind, columns)
    fixed: list[Header] = [
        (name, text.encode("utf-8", "surrogateescape"))
        for name, text in named_pairs(headers, "--header")
    ]
    given = settings_for(PRODUCER, client_settings, (ADMIN,))
    with _opened(path) as (file, name):
        settings = (
            common_settings(bootstrap)
            | _settings_for_topic(bootstrap, client_settings, topic, number, create=create)
            | given
            | _chosen(acks, compression, given)
        )
        _fit_times(settings, timeout_s)
        with sentences(bootstrap), progress_over(file, quiet=as_json) as progress:
            sending = Sending(settings, Target(topic, number, fixed), timeout_s)
            records = (
                _whole(whole_files, columns.key)
                if whole_files
                else records_of(file, name, kind, columns)
            )
            sending.send_all(_buried(records) if tombstones else records, progress)
    summary = sending.summary()
    if as_json:
        print_json(summary)
    else:
        _say(summary)


def _buried(records: Iterator[Record]) -> Iterator[Record]:
    return (record if record.value else record._replace(value=None) for record in records)


def _source(files: dict[str, Path | None], whole: tuple[Path, ...]) -> tuple[str, Path]:
    given = [(form, path) for form, path in files.items() if path is not None]
    if len(given) + bool(whole) > 1:
        raise BadInput("--lines, --csv, --jsonl, --file: only one of them at a time")
    return given[0] if given else (LINES, whole[0] if whole else Path("-"))


def _whole(paths: tuple[Path, ...], key: str) -> Iterator[Record]:
    """A record a file, with the key of all if there is one."""
    for path in paths:
        with _opened(path) as (file, _):
            yield Record(key.encode("utf-8", "surrogateescape") if key else None, file.read())


def _delimiter(text: str) -> str:
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise BadInput(f"--delimiter: {text!r} is not one character, as in ';' or \\t")
    return text


def _check_columns(kind: str, columns: Columns) -> None:
    named = [option for option in columns.by_option() if option != "--key"]
    if kind == LINES and named:
        raise BadInput(f"{', '.join(named)}: lines have no columns; --csv and --jsonl have")
    for option, is_given in (
        ("--key-separator", columns.key_separator),
        ("--format", columns.line_format),
    ):
        if kind != LINES and is_given:
            raise BadInput(f"{option}: is for lines; --key COLUMN is for --csv and --jsonl")
    if columns.key_separator and (columns.line_format or columns.key):
        raise BadInput("--key-separator: --format and --key say where the key is, too; one of them")


def _producer_settings(limit_bytes: int) -> dict[str, Any]:
    return {
        "linger_ms": LINGER_MS,
        "batch_size": min(BATCH_BYTES, limit_bytes),
        "max_request_size": max(REQUEST_BYTES, limit_bytes + ENVELOPE_BYTES),
        "reconnect_backoff_max_ms": RECONNECT_MOST_MS,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    }


def _chosen(acks: str | None, compression: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """What options say, over --client; and what follows from it."""
    settings: dict[str, Any] = {}
    if acks is not None:
        settings["acks"] = acks if acks == "all" else int(acks)
    if settings.get("acks", given.get("acks")) in (0, 1) and "enable_idempotence" not in given:
        settings["enable_idempotence"] = False
    compression = compression or given.get("compression_type") or "none"
    settings["compression_type"] = None if compression == "none" else compression
    if compression != "none":
        _check_codec(compression)
    return settings


def _fit_times(settings: dict[str, Any], timeout_s: float) -> None:
    """--timeout is what ends it, so that no time of kafka-python's may be shorter."""
    settings.setdefault("max_block_ms", int(timeout_s * 1000))
    request_ms = settings.get("request_timeout_ms", REQUEST_MS)
    least_ms = request_ms + settings["linger_ms"]
    settings.setdefault("delivery_timeout_ms", max(int(timeout_s * 1000) * 2, least_ms))


def _check_codec(compression: str) -> None:
    if compression not in ("gzip", "snappy", "lz4", "zstd"):
        raise BadInput(f"--client: there is no compression {compression}")
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


def _settings_for_topic(
    bootstrap: str, client_settings: tuple[str, ...], topic: str, partition: int | None,
    *, create: bool,
) -> dict[str, Any]:  # fmt: skip
    """Make sure that TOPIC can take the records; what follows from where it is, and its limits."""
    with connected(bootstrap, client_settings, beside=(PRODUCER,)) as cluster:
        if create:
            _create(cluster, topic)
        places_of(cluster, topic, () if partition is None else (partition,), "--partition")
        settings = _producer_settings(_batch_limit_bytes(cluster, topic))
        return settings | {"bootstrap_servers": cluster.bootstrap_servers}


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
        f"{counted(summary['records'], 'record')}, {summary['bytes'] / 1e6:,.1f} MB"
        f" in {summary['seconds']:.1f} s ({summary['records_per_second']:,} records/s)"
        f" to {summary['topic']}"
    )
