"""`barnabas pipeline audit`."""

import json
from pathlib import Path

import click

from barnabas.pipeline.options import SparkRun, kafka_options, spark_options
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.server.cli.failures import FAILED, BadInput, Failure
from barnabas.server.cli.output import note

FILE = click.Path(dir_okay=False, writable=True, path_type=Path)
DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
MOST_LINES = 20


@click.command()
@click.argument("topics", nargs=-1, metavar="[TOPIC…]")
@click.option("--pattern", help="Topics by a Java pattern, in the broker or in the lake.")
@click.option("--lake", required=True, metavar="DIR", help="Where the topics have landed.")
@click.option("--report", type=FILE, metavar="FILE", help="Write the report as one HTML file.")
@click.option("--json", "json_file", type=FILE, metavar="FILE", help="Write the same as JSON.")
@click.option(
    "--log-dir", "log_dirs", multiple=True, type=DIRECTORY, metavar="DIR",
    help="A broker's data directory: gaps are looked up there before the broker is asked.",
)  # fmt: skip
@click.option(
    "--isolation", type=click.Choice(["committed", "all"]), default="committed", show_default=True,
    help="What the lake is meant to hold: committed records, or all.",
)  # fmt: skip
@kafka_options
@spark_options
def audit(
    topics: tuple[str, ...],
    pattern: str | None,
    lake: str,
    report: Path | None,
    json_file: Path | None,
    log_dirs: tuple[Path, ...],
    isolation: str,
    cluster: KafkaCluster,
    spark_run: SparkRun,
) -> int:
    """Hold a lake against the broker: every record there once, every gap explained.

    Ends with 0 when that is so, and with 1 when a record is missing, doubled, different, out of
    order, or when an offset is empty for no reason that can be found or looked for.

    \b
    barnabas pipeline audit orders --lake /data/lake --report audit.html
    barnabas pipeline audit --pattern 'web\\..*' --lake s3a://lake --json audit.json
    """
    if bool(topics) == (pattern is not None):
        raise BadInput("topics are given by name or by --pattern")
    from barnabas.pipeline.audit.auditing import audit
    from barnabas.pipeline.audit.question import Question
    from barnabas.pipeline.audit.summary import to_json
    from barnabas.pipeline.audit.verdict import fault_lines, verdict

    question = Question(
        cluster,
        lake,
        topics or None,
        pattern,
        tuple(str(path.resolve()) for path in log_dirs),
        isolation == "all",
    )
    with spark_run.session("audit") as spark:
        found = audit(spark, question)
    click.echo(verdict(found))
    lines = list(fault_lines(found))
    for line in lines[:MOST_LINES]:
        click.echo(line)
    if len(lines) > MOST_LINES:
        click.echo(f"and {len(lines) - MOST_LINES:,} more")
    for each in found.notes:
        note(each)
    if json_file is not None:
        _write(json_file, json.dumps(to_json(found, verdict(found)), indent=1) + "\n")
    if report is not None:
        from barnabas.pipeline.audit.report import to_html

        _write(report, to_html(found))
    return 0 if found.is_clean else FAILED


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from error
    note(f"written: {path}")


@click.command()
@click.argument("topic")
@click.argument("partition", type=click.IntRange(0))
@click.argument("offset", type=click.IntRange(0))
@click.option("--lake", required=True, metavar="DIR", help="Where the topic has landed.")
@click.option(
    "--log-dir", "log_dirs", multiple=True, type=DIRECTORY, metavar="DIR",
    help="A broker's data directory, to find the segment file that held the record.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@spark_options
def lineage(
    topic: str,
    partition: int,
    offset: int,
    lake: str,
    log_dirs: tuple[Path, ...],
    as_json: bool,
    spark_run: SparkRun,
) -> None:
    """Where a row of the lake comes from: its file, landing and batch, and the segment file.

    \b
    barnabas pipeline lineage orders 0 4711 --lake /data/lake --log-dir /var/lib/barnabas
    """
    from barnabas.pipeline.audit.lineage import as_lines, trace

    with spark_run.session("lineage") as spark:
        found = trace(
            spark, lake, topic, partition, offset, [str(path.resolve()) for path in log_dirs]
        )
    if as_json:
        from dataclasses import asdict

        from barnabas.server.cli.output import print_json

        for each in found:
            print_json(asdict(each))
        return
    for each in found:
        for line in as_lines(each):
            click.echo(line)
