"""`barnabas pipeline land`."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barnabas.pipeline.options import SparkRun, kafka_options, named_values, spark_options
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.output import note

if TYPE_CHECKING:
    from barnabas.pipeline.land.landing import LandedBatch
    from barnabas.pipeline.land.parsing import Parsing


FORMATS = ("json", "csv", "avro")


class LandGroup(click.Group):
    """A command of its own that has one below it: what is not `compact` are topics."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] and args[0] in self.commands:
            ctx.meta["below"] = args[0]
            ctx.args = args[1:]
            return ctx.args
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if "below" not in ctx.meta:
            return click.Command.invoke(self, ctx)
        command = self.commands[ctx.meta["below"]]
        with command.make_context(command.name, ctx.args, parent=ctx) as below:
            return command.invoke(below)


UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def interval_of(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    """30s and the like, as Spark has them."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})\s*(ms|s|m|h|d)", text.strip())
    if found is None:
        raise BadInput(f"--interval {text}: 30s, 5m and 1h are intervals")
    return f"{found[1]} {UNITS[found[2]]}"


@click.group(
    cls=LandGroup, subcommand_metavar="", context_settings={"allow_interspersed_args": True}
)
@click.argument("topics", nargs=-1, metavar="TOPIC…")
@click.option("--pattern", metavar="REGEX", help="Topics by a Java pattern, new ones as they come.")
@click.option("--lake", required=True, metavar="DIR", help="Where the Parquet files go.")
@click.option(
    "--checkpoint", required=True, metavar="DIR", help="Where it stands how far this landing is."
)
@click.option("--once", is_flag=True, help="Land what is there, and end.")
@click.option(
    "--interval",
    metavar="TIME",
    callback=interval_of,
    help="A batch every so often, such as 30s or 5m.",
)
@click.option(
    "--parse", "kind", type=click.Choice(["json", "csv", "avro"]), help="Parse the values."
)
@click.option(
    "--schema", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The schema of the values: Spark's DDL or JSON, JSON Schema; Avro's own.",
)  # fmt: skip
@click.option(
    "--parse-option", multiple=True, metavar="NAME=VALUE",
    help="An option of Spark's JSON or CSV reader, such as sep=; or timestampFormat=….",
)  # fmt: skip
@click.option(
    "--registry-format", is_flag=True,
    help="Values begin with a zero byte and the id of their schema, which is kept.",
)  # fmt: skip
@click.option(
    "--records-per-batch", type=click.IntRange(min=1), default=1_000_000, show_default=True,
    help="At most so many in one batch.",
)  # fmt: skip
@click.option("--accept-loss", is_flag=True, help="Go on where records are lost for good.")
@click.option(
    "--accept-made-again", is_flag=True, help="Land a topic that was made again, from its start."
)
@click.option("--take-over", is_flag=True, help="Go on where another landing of the topics ended.")
@kafka_options
@spark_options
def land(
    topics: tuple[str, ...],
    pattern: str | None,
    lake: str,
    checkpoint: str,
    once: bool,
    interval: str | None,
    kind: str | None,
    schema: Path | None,
    parse_option: tuple[str, ...],
    registry_format: bool,
    records_per_batch: int,
    accept_loss: bool,
    accept_made_again: bool,
    take_over: bool,
    cluster: KafkaCluster,
    spark_run: SparkRun,
) -> None:
    """Land topics in a lake of Parquet files, every record once.

    Key, value, headers, timestamp, offset and leader epoch are kept. A landing goes on where it
    ended, also after a kill: the same command again. Without --once and --interval batch follows
    batch until Ctrl-C. What cannot be parsed is kept as a dead letter, with the reason.

    \b
    barnabas pipeline land orders --lake lake --checkpoint checkpoints/orders --once
    barnabas pipeline land --pattern 'web\\..*' --lake lake --checkpoint checkpoints/web
    barnabas pipeline land compact --lake lake
    """
    if bool(topics) == (pattern is not None):
        raise BadInput("which topics: their names, or --pattern")
    if once and interval:
        raise BadInput("--once and --interval exclude each other")
    with spark_run.session("land") as spark:
        from barnabas.pipeline.land.landing import Landing
        from barnabas.pipeline.land.landing_options import Accepted, LandingOptions
        from barnabas.pipeline.land.marker import Selection

        options = LandingOptions(
            lake=lake,
            checkpoint=checkpoint,
            selection=Selection(tuple(sorted(set(topics))), pattern),
            once=once,
            interval=interval,
            parsing=_parsing(kind, schema, parse_option, registry_format=registry_format),
            accepted=Accepted(accept_loss, accept_made_again, take_over),
            records_per_batch=records_per_batch,
        )
        said = Said()
        landing = Landing(spark, cluster, options, said.batch, note)
        try:
            landing.run()
        finally:
            landing.close()
            said.summary(lake)
        if not said.batches:
            note("nothing new to land")


def _parsing(
    kind: str | None, schema: Path | None, pairs: tuple[str, ...], *, registry_format: bool
) -> Parsing | None:
    if kind is None:
        if schema or pairs or registry_format:
            raise BadInput("--schema, --parse-option and --registry-format go with --parse")
        return None
    if schema is None:
        raise BadInput(f"--parse {kind} needs --schema FILE")
    from barnabas.pipeline.land.parsing import Parsing
    from barnabas.pipeline.land.schemas import read_format

    options = named_values(pairs, "--parse-option")
    return Parsing(read_format(kind, schema, options), registry_format)


class Said:
    """What a landing says of itself on the standard error."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._unknown: Counter[tuple[str, str]] = Counter()

    @property
    def batches(self) -> int:
        """How many have landed."""
        return self._counts["batches"]

    def batch(self, batch: LandedBatch) -> None:
        """One line for a batch, and one for each field when it is first seen."""
        self._counts.update(batches=1, records=batch.rows, dead=batch.dead_letters)
        dead = f", {batch.dead_letters:,} of them dead letters" if batch.dead_letters else ""
        note(f"batch {batch.batch}: {batch.rows:,} records landed{dead}")
        for (topic, name), count in batch.unknown.items():
            if (topic, name) not in self._unknown:
                note(
                    f"{topic}: the schema does not know the field {name}; it stays in the raw "
                    "value, and its name in the column unknown_fields"
                )
            self._unknown[topic, name] += count

    def summary(self, lake: str) -> None:
        """What all batches brought, whatever has ended the landing; nothing without one."""
        if not self.batches:
            return
        for (topic, name), count in sorted(self._unknown.items()):
            note(f"{topic}: {count:,} records have the unknown field {name}")
        dead = self._counts["dead"]
        where = f"; {dead:,} dead letters in {lake}/_dead_letters" if dead else ""
        note(f"{self._counts['records']:,} records in {lake}{where}")


@land.command("compact", context_settings={"max_content_width": 96})
@click.option("--lake", required=True, metavar="DIR", help="Where the Parquet files are.")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Only this one's files.")
@click.option(
    "--size-mb", type=click.IntRange(min=1), default=128, show_default=True,
    help="Files smaller than half of this are merged, into files of about this size.",
)  # fmt: skip
@click.option(
    "--grace-s", type=click.IntRange(min=0), default=0, show_default=True,
    help="Keep the merged files so long for readers that have begun.",
)  # fmt: skip
@spark_options
def compact_lake(
    lake: str, topics: tuple[str, ...], size_mb: int, grace_s: int, spark_run: SparkRun
) -> None:
    """Merge the small files of a lake into larger ones.

    Landings may go on beside it, and readers through `Lake` see each record once at every
    moment; a compaction that was killed is carried through by the next. Who reads the folders
    alone sees records twice while merged files lie beside those that they replace: for some
    milliseconds, and for --grace-s.

    \b
    barnabas pipeline land compact --lake lake
    """
    with spark_run.session("land compact") as spark:
        from barnabas.pipeline.land.compact import compact

        done = compact(
            spark,
            lake,
            topics=topics or None,
            wanted_bytes=size_mb << 20,
            grace_s=grace_s,
        )
    if done.carried_through:
        note(f"{done.carried_through} compactions that had been stopped were carried through")
    note(f"{done.merged} files merged into {done.into}")
