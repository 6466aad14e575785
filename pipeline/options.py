"""What every job's command can be told about the cluster and about Spark, as click decorators.

@click.command()
@kafka_options          # gives the command `cluster`
@spark_options          # gives the command `spark_run`
def land(cluster: KafkaCluster, spark_run: SparkRun) -> None:
    with spark_run.session("land") as spark:
        ...
"""

import functools
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barnabas.pipeline.spark.failures import sentences
from barnabas.pipeline.spark.kafka import PREFIX, KafkaCluster
from barnabas.server.cli.failures import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = Callable[..., Any]
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"


@dataclass(frozen=True)
class SparkRun:
    """How Spark is to run a job."""

    master: str = "local[*]"
    jars: Path | None = None
    settings: dict[str, str] = field(default_factory=dict, repr=False)
    progress: bool = False
    verbose: bool = False

    @contextmanager
    def session(self, name: str) -> Iterator["SparkSession"]:
        """A session for the length of a block; whatever Spark raises there is one sentence."""
        from barnabas.pipeline.spark.interrupts import never_lost, told
        from barnabas.pipeline.spark.progress import stage_bars
        from barnabas.pipeline.spark.session import running_session

        logging.getLogger().addHandler(logging.NullHandler())  # py4j's words are not for people
        options: dict[str, Any] = {"master": self.master, "jars": self.jars}
        options |= {"settings": self.settings, "verbose": self.verbose}
        before = signal.getsignal(signal.SIGINT)
        with (
            never_lost(),
            running_session(name, **options) as spark,
            told(before),
            stage_bars(spark, name, shown=self.progress),
            sentences(),
        ):
            yield spark


def kafka_options(command: Command) -> Command:
    """--bootstrap and --kafka-option; the command gets them as `cluster: KafkaCluster`."""

    @click.option(
        "--bootstrap", envvar="BARNABAS_BOOTSTRAP", default=DEFAULT_BOOTSTRAP, show_default=True,
        show_envvar=True, metavar="HOST:PORT[,…]", help="A broker of the cluster, or several.",
    )  # fmt: skip
    @click.option(
        "--kafka-option", "kafka_option", multiple=True, metavar="NAME=VALUE",
        help="A setting of Kafka's client as Spark has it, such as "
        "kafka.security.protocol=SASL_SSL.",
    )  # fmt: skip
    @functools.wraps(command)
    def wrapped(bootstrap: str, kafka_option: tuple[str, ...], **arguments: Any) -> Any:
        return command(cluster=cluster_of(bootstrap, kafka_option), **arguments)

    return wrapped


def spark_options(command: Command) -> Command:
    """--master, --jars and so on; the command gets them as `spark_run: SparkRun`."""

    @click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
    @click.option(
        "--jars", envvar="BARNABAS_SPARK_JARS", show_envvar=True,
        type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
        help="A folder with the jars of Spark's Kafka connector; without it Spark fetches them.",
    )  # fmt: skip
    @click.option(
        "--spark-setting", "spark_setting", multiple=True, metavar="NAME=VALUE",
        help="A setting of Spark's, such as spark.driver.memory=2g.",
    )  # fmt: skip
    @click.option(
        "--progress/--no-progress", default=None, help="Progress bars (default: on a terminal)."
    )
    @click.option("--verbose", is_flag=True, help="Show what Spark says.")
    @functools.wraps(command)
    def wrapped(
        master: str, jars: Path | None, spark_setting: tuple[str, ...], progress: bool | None,
        verbose: bool, **arguments: Any,
    ) -> Any:  # fmt: skip
        settings = named_values(spark_setting, "--spark-setting")
        shown = _somebody_looks() if progress is None else progress
        return command(spark_run=SparkRun(master, jars, settings, shown, verbose), **arguments)

    return wrapped


def cluster_of(bootstrap: str, pairs: tuple[str, ...]) -> KafkaCluster:
    """The cluster that --bootstrap and --kafka-option name; `kafka.` may be left out."""
    named = named_values(pairs, "--kafka-option")
    return KafkaCluster(
        bootstrap, {PREFIX + name.removeprefix(PREFIX): value for name, value in named.items()}
    )


def named_values(pairs: tuple[str, ...], where: str) -> dict[str, str]:
    """NAME=VALUE pairs as a dictionary; BadInput names the one that is none."""
    named = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            # Not the pair itself, which may be a password.
            raise BadInput(f"{where}: {name.strip()!r} is not followed by =VALUE")
        named[name.strip()] = value
    return named


def _somebody_looks() -> bool:
    import sys

    return sys.stderr.isatty()
