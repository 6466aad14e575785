"""`barnabas pipeline aggregate`."""

import re
from typing import Final

import click

from barnabas.pipeline.aggregate.counts import Rules
from barnabas.pipeline.aggregate.tally import Tally
from barnabas.pipeline.options import SparkRun, kafka_options, spark_options
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.output import note, print_rows

COLUMNS: Final = (
    "records", "counted", "late", "duplicates", "unreadable", "ahead", "untold", "watermark",
)  # fmt: skip
DEFAULTS: Final = Rules()
UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(ctx: click.Context, param: click.Parameter, text: str) -> str:
    """`10m` or `10 minutes` as Spark has it."""
    found = re.fullmatch(r"(\d+)\s*([smhd])", text.strip())
    if found is not None:
        text = f"{found[1]} {UNITS[found[2]]}"
    if not re.fullmatch(r"[1-9]\d*\s+(second|minute|hour|day)s?", text.strip()):
        raise click.BadParameter(f"{text!r} is no duration, such as 30s, 10m, 2h", ctx, param)
    return text.strip()


@click.command()
@click.argument("topic")
@click.option("--checkpoint", required=True, metavar="DIR",
              help="Where it remembers how far it has come.")  # fmt: skip
@click.option("--to-topic", metavar="TOPIC", help="Write results there, keyed by what is counted.")
@click.option("--to-folder", metavar="DIR", help="Write results there as Parquet.")
@click.option("--once", is_flag=True, help="End with what is in the topic now.")
@click.option("--interval", callback=duration, default="10s", show_default=True,
              help="How often to look for more, without --once.")  # fmt: skip
@click.option("--window", callback=duration, default=DEFAULTS.window, show_default=True,
              help="What events are counted in.")  # fmt: skip
@click.option("--session-gap", callback=duration, default=DEFAULTS.session_gap, show_default=True,
              help="How long nothing happens between two sessions.")  # fmt: skip
@click.option("--watermark", callback=duration, default=DEFAULTS.watermark, show_default=True,
              help="How far behind the newest an event may be; more is late.")  # fmt: skip
@click.option("--most-records", type=click.IntRange(1), default=500_000, show_default=True,
              help="Of a batch.")  # fmt: skip
@click.option("--accept-loss", is_flag=True,
              help="Go on where records were deleted before they were read.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The table at the end as a JSON object.")
@spark_options
@kafka_options
def aggregate(
    topic: str, checkpoint: str, to_topic: str | None, to_folder: str | None, once: bool,
    interval: str, window: str, session_gap: str, watermark: str, most_records: int,
    accept_loss: bool, as_json: bool, cluster: KafkaCluster, spark_run: SparkRun,
) -> None:  # fmt: skip
    """Count the events of TOPIC in windows and sessions, as they come.

    Each event counts once; bots are counted apart. A result is written when it is final: when
    the watermark has passed its end. Late events are not in it; the table at the end says how
    many there were.

    \b
    barnabas pipeline aggregate visits --checkpoint /data/cp --to-folder /data/visits --once
    barnabas pipeline aggregate visits --checkpoint /data/cp --to-topic visits-counted
    """
    if to_topic is None and to_folder is None:
        raise BadInput("aggregate writes to --to-topic, --to-folder or both")
    if to_topic == topic:
        raise BadInput(f"--to-topic {to_topic} is what is read; results go to another topic")
    from barnabas.pipeline.aggregate.job import Aggregation, tally_of
    from barnabas.pipeline.aggregate.job import aggregate as run
    from barnabas.pipeline.spark.files import Files

    wanted = Aggregation(
        topic=topic, checkpoint=checkpoint, folder=to_folder, to_topic=to_topic,
        rules=Rules(watermark, window, session_gap), most_records=most_records, once=once,
        interval=interval, accept_loss=accept_loss,
    )  # fmt: skip
    with spark_run.session("aggregate") as spark:
        try:
            run(spark, cluster, wanted)
        except KeyboardInterrupt:  # how a stream without --once ends
            _tell(tally_of(Files(spark, checkpoint)), as_json=as_json)
            raise
        _tell(tally_of(Files(spark, checkpoint)), as_json=as_json)


def _tell(tally: Tally, *, as_json: bool) -> None:
    print_rows([tally.as_row()], COLUMNS, as_json=as_json)
    if tally.late:
        note(f"{tally.late:,} events came after the watermark and are in no window")
