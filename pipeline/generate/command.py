"""`barnabas pipeline generate`."""

import re
import time
from typing import Final, TypedDict, Unpack

import click

from barnabas.pipeline.generate.plan import DEFAULT_SPAN_MS, DEFAULT_START_MS, MOST_USERS, Plan
from barnabas.pipeline.options import SparkRun, kafka_options, spark_options
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.output import note, print_rows
from barnabas.server.cli.times import FORMS, parse_time_ms

DEFAULT_EVENTS: Final = 100_000
UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
COLUMNS: Final = ("partition", "events", "start_offset", "end_offset")


class Asked(TypedDict):
    """What was typed about the stream."""

    events: int | None
    duration: int | None
    per_second: float | None
    seed: int
    users: int
    start: int
    span: int | None


Typed = str | None


def duration_ms(ctx: click.Context, param: click.Parameter, text: Typed) -> int | None:
    """90s, 10m, 24h, 7d in milliseconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)\s*([smhd])", text.strip())
    if found is None or not int(found[1]):
        raise click.BadParameter(f"{text!r} is no duration, such as 90s, 10m, 24h, 7d", ctx, param)
    return int(found[1]) * UNIT_MS[found[2]]


def rate_per_second(ctx: click.Context, param: click.Parameter, text: Typed) -> float | None:
    """500/s, or 500, as events per second."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(/s)?", text.strip())
    if found is None or not float(found[1]):
        raise click.BadParameter(f"{text!r} is no rate, such as 500/s", ctx, param)
    return float(found[1])


def time_ms(ctx: click.Context, param: click.Parameter, text: Typed) -> int:
    """A point in time in milliseconds since 1970."""
    if text is None:
        return DEFAULT_START_MS
    found = parse_time_ms(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no time; there are {FORMS}", ctx, param)
    if found < UNIT_MS["d"]:  # no event, however late, is to be of the time 0, which says "now"
        raise click.BadParameter("the events begin on 1970-01-02 at the earliest", ctx, param)
    return found


@click.command()
@click.argument("topic", required=False)
@click.option("--events", type=click.IntRange(1), help=f"How many records ({DEFAULT_EVENTS:,}).")
@click.option(
    "--duration", callback=duration_ms, help="How long to write, with --rate: 90s, 10m, 24h."
)
@click.option(
    "--rate", "per_second", callback=rate_per_second, metavar="N/s",
    help="Records a second, such as 500/s; without it as fast as it goes.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True,
              help="The same seed makes the same stream.")  # fmt: skip
@click.option("--users", type=click.IntRange(1, MOST_USERS), default=100_000, show_default=True,
              help="How many people there are; few of them come often.")  # fmt: skip
@click.option("--start", callback=time_ms, show_default="2026-03-02T00:00Z",
              help="When the first event arrives, `now` for instance.")  # fmt: skip
@click.option("--span", callback=duration_ms, show_default="24h, or the --duration",
              help="The time that the events are spread over.")  # fmt: skip
@click.option("--create", is_flag=True, help="Make the topic where there is none.")
@click.option("--partitions", type=click.IntRange(1), default=6, show_default=True,
              help="Of the topic, with --create.")  # fmt: skip
@click.option("--to-folder", metavar="DIR", help="Write to a new folder instead of a topic.")
@click.option("--format", "form", type=click.Choice(("parquet", "json")), default="parquet",
              show_default=True, help="Of the folder's files.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object per partition.")
@spark_options
@kafka_options
def generate(
    topic: str | None, create: bool, partitions: int, to_folder: str | None, form: str,
    as_json: bool, cluster: KafkaCluster, spark_run: SparkRun, **asked: Unpack[Asked],
) -> None:  # fmt: skip
    """Write the activity of a website to TOPIC: pages seen, searches, sign-ins.

    A day has its curve, visitors come in sessions, some are bots, a few come often; some
    events arrive late, some twice. The key is the user's id, the value JSON, the record
    timestamp that of the event.

    \b
    barnabas pipeline generate visits --create --events 1000000
    barnabas pipeline generate visits --rate 200/s --duration 10m --start now
    barnabas pipeline generate --to-folder /tmp/visits --format json
    """
    if (topic is None) == (to_folder is None):
        raise BadInput("generate writes to a TOPIC or --to-folder, one of the two")
    plan = plan_of(asked)
    if to_folder is not None:
        _write_folder(spark_run, plan, to_folder, form)
    elif topic is not None:
        per_second = asked["per_second"]
        _write_topic(spark_run, cluster, topic, plan, create, partitions, per_second, as_json)


def plan_of(asked: Asked) -> Plan:
    """The stream that was asked for.

    With a duration its events are spread over that: what begins now is then written at the time
    that it tells, and not with times to come, which a broker refuses.
    """
    events, per_second, duration = asked["events"], asked["per_second"], asked["duration"]
    if duration is not None:
        if per_second is None or events is not None:
            raise BadInput("--duration goes with --rate and without --events, which it gives")
        events = max(1, int(duration / 1000 * per_second))
    return Plan(
        events=events or DEFAULT_EVENTS,
        seed=asked["seed"],
        users=asked["users"],
        start_ms=asked["start"],
        span_ms=asked["span"] or duration or DEFAULT_SPAN_MS,
    )


def _write_folder(spark_run: SparkRun, plan: Plan, folder: str, form: str) -> None:
    from barnabas.pipeline.generate.folder import write_folder
    from barnabas.pipeline.spark.files import Files
    from barnabas.pipeline.spark.progress import stage_bars

    with spark_run.session("generate") as spark:
        if Files(spark, folder).exists(""):
            raise Failure(f"{folder} is there already; --to-folder makes a new one")
        with stage_bars(spark, "generate", shown=spark_run.progress):
            write_folder(spark, plan, folder, form)
    note(f"{plan.events:,} events in {folder}")


def _write_topic(
    spark_run: SparkRun, cluster: KafkaCluster, topic: str, plan: Plan, create: bool,
    partitions: int, per_second: float | None, as_json: bool,
) -> None:  # fmt: skip
    from barnabas.pipeline.generate.job import create_topic, is_expired_at_once
    from barnabas.pipeline.generate.job import generate as generate_into
    from barnabas.pipeline.spark.admin import check_reachable
    from barnabas.pipeline.spark.progress import stage_bars

    check_reachable(cluster.bootstrap_servers)
    if create and create_topic(cluster, topic, partitions):
        note(f"{topic} is made, with {partitions} partitions")
    with spark_run.session("generate") as spark:
        if is_expired_at_once(spark, cluster, topic, plan):
            note(f"the retention of {topic} deletes events of {plan.start_text}: --start now, or "
                 f"`barnabas configs set topic {topic} retention.ms=-1`")  # fmt: skip
        with stage_bars(spark, "generate", shown=spark_run.progress):
            started = time.monotonic()
            done = generate_into(spark, cluster, topic, plan, per_second=per_second)
        seconds = time.monotonic() - started
    print_rows([row._asdict() for row in done.partitions], COLUMNS, as_json=as_json)
    note(f"{done.events:,} events in {seconds:.1f} s, {done.events / seconds:,.0f} a second")
