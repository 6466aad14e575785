"""`barnabas pipeline demo`: a website's activity from the broker to the lake and back, audited.

It types the commands that anybody can type, in one process and one Spark session, so that the
JVM is started once.
"""

import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import replace
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barnabas.pipeline.options import SparkRun, spark_options
from barnabas.server.cli.failures import Failure
from barnabas.server.cli.output import print_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC, AGAIN = "visits", "visits.again"
LAKE, COUNTED = "lake", "counted"
REPORT, FAULTY_REPORT = "audit.html", "audit-of-the-damage.html"
# For a JVM that lives for a minute, on a machine that may have two cores.
SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
}


@click.command()
@click.option("--folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
              help="Where everything goes; without it a new temporary folder.")  # fmt: skip
@click.option("--events", type=click.IntRange(1_000), default=50_000, show_default=True,
              help="How many events the website has.")  # fmt: skip
@spark_options
def demo(folder: Path | None, events: int, spark_run: SparkRun) -> None:
    """See it all: generate, land, audit, replay, aggregate, on a broker of the demo's own.

    It needs no broker, no Java and no settings, takes about a minute and leaves its folder behind,
    with the lake to look at and the report of the audit to open.

    \b
    barnabas pipeline demo
    barnabas pipeline demo --folder visits --events 1000000
    """
    place = _new_folder(folder)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(
            line_buffering=True
        )  # tables and notes in their order, in a pipe too
    run = replace(spark_run, settings=SETTINGS | spark_run.settings)
    started = time.monotonic()
    with chdir(place), _broker() as bootstrap:
        click.echo(f"Everything is in {place}, the broker at {bootstrap}. Spark starts…")
        with run.session("demo") as spark:
            Play(spark, run).all_acts(events)
    click.echo(
        f"\nAll of it took {time.monotonic() - started:.0f} s. Open the report of the audit:"
    )
    click.secho(f"    {place / REPORT}", bold=True)


def _new_folder(folder: Path | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="barnabas-demo-"))
    if folder.exists() and any(folder.iterdir()):
        raise Failure(f"{folder} is not empty; --folder names a new one")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@contextmanager
def _broker() -> Iterator[str]:
    """A broker in a process of its own, which the commands find without being told."""
    barnabas: Any = import_module("barnabas")
    before = os.environ.get("BARNABAS_BOOTSTRAP")
    settings = {"produce.validation": "fast"}
    with barnabas.Broker(settings, process=True, data_dir="broker") as broker:
        os.environ["BARNABAS_BOOTSTRAP"] = broker.bootstrap_servers
        try:
            yield broker.bootstrap_servers
        finally:
            del os.environ["BARNABAS_BOOTSTRAP"]
            if before is not None:
                os.environ["BARNABAS_BOOTSTRAP"] = before


class Play:
    """The acts, each a command that is shown before it is carried out."""

    def __init__(self, spark: "SparkSession", run: SparkRun) -> None:
        self._spark = spark
        self._run = run
        self._act = 0

    def all_acts(self, events: int) -> None:
        """From the first event to the last report."""
        self._title("A website is visited for a day")
        self._type(f"generate {TOPIC} --create --partitions 4 --events {events}")
        self._title("Its events land in a lake of Parquet files, every record once")
        self._type(f"land {TOPIC} --lake {LAKE} --checkpoint checkpoints/land --once")
        self._title("The lake is held against the broker, offset by offset")
        self._type(f"audit {TOPIC} --lake {LAKE}")
        self._title("The lake goes back into a topic, in transactions")
        self._type(f"replay {TOPIC} --lake {LAKE} --to {AGAIN} --create --exactly-once")
        self._title(
            "That topic lands, too, and both are audited: transaction markers are explained"
        )
        self._type(f"land {AGAIN} --lake {LAKE} --checkpoint checkpoints/again --once")
        self._type(f"audit {TOPIC} {AGAIN} --lake {LAKE} --report {REPORT}")
        self._compare()
        self._title("The events are counted in windows and sessions, each once")
        count = f"aggregate {TOPIC} --checkpoint checkpoints/count --to-folder {COUNTED} --once"
        self._type(f"{count} --most-records {events * 4 // 10}")
        self._show_counts()
        self._title("Somebody deletes a file of the lake")
        self._damage()
        self._type(f"audit {TOPIC} --lake {LAKE} --report {FAULTY_REPORT}", expected=1)

    def _title(self, text: str) -> None:
        self._act += 1
        click.echo()
        click.secho(f"{self._act}. {text}.", bold=True)

    def _type(self, line: str, expected: int = 0) -> None:
        """Show a command and carry it out; it has to end as expected."""
        click.secho(f"$ barnabas pipeline {line}", dim=True)
        name, *words = shlex.split(line)
        if not self._run.progress:
            words.append("--no-progress")
        started = time.monotonic()
        code = command_named(name)(words) or 0
        if code != expected:
            raise Failure(f"{name} ended with {code} where {expected} was to come")
        click.secho(f"({time.monotonic() - started:.1f} s)", dim=True)

    def _compare(self) -> None:
        from barnabas.pipeline.demo.comparing import compared

        one, other, unlike = compared(self._spark, LAKE, TOPIC, AGAIN)
        if unlike or one != other:
            raise Failure(f"{unlike} records of {AGAIN} are not those of {TOPIC}")
        click.echo(f"{one:,} records of {TOPIC} and of {AGAIN}: equal in partition, key, value, "
                   "headers and timestamp")  # fmt: skip

    def _show_counts(self) -> None:
        from barnabas.pipeline.demo.comparing import counts_by_kind

        print_rows(counts_by_kind(self._spark, COUNTED), ("kind", "people", "bots"), as_json=False)

    def _damage(self) -> None:
        files = sorted(Path(LAKE, f"topic={TOPIC}").rglob("*.parquet"))
        click.secho(f"$ rm {files[0]}", dim=True)
        files[0].unlink()


def command_named(name: str) -> Callable[[list[str]], Any]:
    """Runs a job's command in this process; its exit code, or nothing."""
    command: click.Command = getattr(import_module(f"barnabas.pipeline.{name}.command"), name)

    def run(words: list[str]) -> Any:
        return command.main(words, prog_name=f"barnabas pipeline {name}", standalone_mode=False)

    return run
