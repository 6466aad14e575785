"""`barnabas pipeline replay`: records of a lake back into topics."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from barnabas.pipeline.options import SparkRun, kafka_options, named_values, spark_options
from barnabas.pipeline.replay.pace import parse_rate
from barnabas.pipeline.replay.selection import OffsetRange, Selection
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.output import Row, note, print_json, print_rows
from barnabas.server.cli.times import FORMS, parse_time_ms

if TYPE_CHECKING:
    from barnabas.pipeline.replay.plan import Plan

T = TypeVar("T")
SUFFIX = ".replayed"
COLUMNS = ("topic", "target", "partitions", "records")


@click.command()
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC…")
@click.option("--lake", required=True, metavar="DIR", help="The lake, as `land` has made it.")
@click.option("--to", metavar="NAME", help="The topic to write to, for a single topic.")
@click.option(
    "--suffix", metavar="TEXT", help=f"What follows a topic's name in its target's [{SUFFIX}]."
)
@click.option("--from-time", metavar="TIME", help=f"Records from then on: {FORMS}.")
@click.option("--to-time", metavar="TIME", help="Records before then.")
@click.option("--key", "keys", multiple=True, help="Records with this key; several times for more.")
@click.option(
    "--offsets", multiple=True, metavar="P:A-B",
    help="Records of partition P from offset A to B, both included; several times for more.",
)  # fmt: skip
@click.option(
    "--topic-id", "topic_ids", multiple=True, help="Of a topic made again: which of them."
)
@click.option("--rate", metavar="N/s", help="No more than so many records a second (/m, /h).")
@click.option(
    "--exactly-once", is_flag=True,
    help="In transactions: nothing twice, also beside other writers or a writer thought dead.",
)  # fmt: skip
@click.option(
    "--checkpoint", metavar="DIR", help="Where the plan is kept [a folder of the lake, _replays]."
)
@click.option("--create", is_flag=True, help="Create targets that are missing, to keep all.")
@click.option(
    "--set", "config", multiple=True, metavar="NAME=VALUE", help="A setting of created targets."
)
@click.option("--append", is_flag=True, help="Write to targets that are not empty, too.")
@click.option("--new-timestamps", is_flag=True, help="Stamp records with the time of the replay.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per topic.")
@kafka_options
@spark_options
def replay(
    topics: tuple[str, ...],
    lake: str,
    to: str | None,
    suffix: str | None,
    from_time: str | None,
    to_time: str | None,
    keys: tuple[str, ...],
    offsets: tuple[str, ...],
    topic_ids: tuple[str, ...],
    rate: str | None,
    exactly_once: bool,
    checkpoint: str | None,
    create: bool,
    config: tuple[str, ...],
    append: bool,
    new_timestamps: bool,
    as_json: bool,
    cluster: KafkaCluster,
    spark_run: SparkRun,
) -> None:
    """Write records of a lake to topics: partition, key, headers, timestamp, order are kept.

    A replay that was ended, by a kill too, goes on where it was when the same command is run
    again; when it is at its end, that does nothing.

    \b
    barnabas pipeline replay --lake lake orders --to orders.again --create --exactly-once
    barnabas pipeline replay --lake lake orders clicks --from-time 2026-03-01 --rate 500/s
    """
    from barnabas.pipeline.replay.job import Replayed
    from barnabas.pipeline.replay.job import replay as run
    from barnabas.pipeline.replay.request import Request
    from barnabas.pipeline.spark.progress import stage_bars

    selection = Selection(
        topics=tuple(dict.fromkeys(topics)),
        topic_ids=topic_ids,
        from_ms=_time_ms(from_time, "--from-time"),
        to_ms=_time_ms(to_time, "--to-time"),
        keys=tuple(key.encode() for key in keys),
        offsets=tuple(_typed(OffsetRange.parse, text) for text in offsets),
    )
    request = Request(
        selection=selection,
        targets=targets_of(selection.topics, to, suffix),
        exactly_once=exactly_once,
        with_timestamps=not new_timestamps,
        append=append,
        create=create,
        config=named_values(config, "--set"),
        per_second=None if rate is None else _typed(parse_rate, rate),
    )
    with (
        spark_run.session("replay") as spark,
        stage_bars(spark, "replay", shown=spark_run.progress),
    ):
        done: Replayed = run(
            spark, _plain(lake), cluster, request,
            checkpoint=None if checkpoint is None else _plain(checkpoint), say=note,
        )  # fmt: skip
    rows = _rows(done.plan)
    if as_json:
        for row in rows:
            print_json(row)
        return
    print_rows(rows, COLUMNS, as_json=False)
    if done.was_finished:
        note("nothing to do: this was replayed already; another --checkpoint does it again")
    elif done.written < done.plan.rows:
        note(f"{done.plan.rows - done.written} records had been written by earlier runs")


def targets_of(topics: tuple[str, ...], to: str | None, suffix: str | None) -> dict[str, str]:
    """By topic its target; BadInput where that is not one each."""
    if to is not None:
        if suffix is not None:
            raise BadInput("--to and --suffix: one of them names the targets")
        if len(topics) > 1:
            raise BadInput("--to names the target of a single topic; --suffix those of several")
        return {topics[0]: to}
    return {topic: topic + (SUFFIX if suffix is None else suffix) for topic in topics}


def _plain(path: str) -> str | Path:
    """A path of this machine, made whole, or an address that Spark knows, left alone."""
    return path if "://" in path else Path(path).absolute()


def _typed(parse: Callable[[str], T], text: str) -> T:
    """What somebody typed; BadInput for what cannot be meant."""
    try:
        return parse(text)
    except PipelineError as error:
        raise BadInput(error.message) from error


def _time_ms(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    if (found := parse_time_ms(text)) is None:
        raise BadInput(f"{option} {text}: it has to be a time, such as {FORMS}")
    return found


def _rows(plan: "Plan") -> list[Row]:
    by_topic: dict[str, Row] = {}
    for part in plan.parts:
        row = by_topic.setdefault(
            part.topic,
            {"topic": part.topic, "target": part.target, "partitions": 0, "records": 0},
        )
        row["partitions"] += 1
        row["records"] += part.rows
    return list(by_topic.values())
