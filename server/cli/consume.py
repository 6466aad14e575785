"""`barnabas consume`: the records of a topic, from one position to another, or as they come."""

import sys
from typing import Any, NamedTuple

import click

from barnabas.server.cli.completion import complete_topics
from barnabas.server.cli.connection import (
    bootstrap_option,
    client_option,
    client_settings_of,
    connected,
    json_option,
    kafka,
    sentences,
)
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.log_tools.formats import Format
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.ranges import check_position, positions
from barnabas.server.cli.record_formats import Print, printer

POLL_MS = 500
RETRY_MS = 10
RECORDS_PER_POLL = 2000
FORMATS = click.Choice([how.value for how in Format])


@click.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.option("--from", "start", default="earliest", show_default=True, metavar="POSITION",
              help="earliest, latest, an offset, -N (from the end) or a time.")  # fmt: skip
@click.option("--to", "end", metavar="POSITION", help="Stop before it; the present end.")
@click.option("--partition", "partitions", type=click.IntRange(0), multiple=True,
              help="Only this one; may be given more than once.")  # fmt: skip
@click.option("--max", "most", type=click.IntRange(1), metavar="N", help="Stop after N records.")
@click.option("--follow", is_flag=True, help="Go on with what comes; Ctrl-C ends.")
@click.option("--format", "form", default="value", show_default=True, metavar="FORMAT",
              help="value, key-value, full, json, or like '{offset} {key}'.")  # fmt: skip
@click.option("--keys", type=FORMATS, default="auto", show_default=True, help="How bytes show.")
@click.option("--values", type=FORMATS, default="auto", show_default=True, help="How bytes show.")
@click.option("--committed", is_flag=True, help="Leave out what no transaction has committed.")
@bootstrap_option
@client_option
@json_option
def consume(
    topic: str, start: str, end: str | None, partitions: tuple[int, ...], most: int | None,
    follow: bool, form: str, keys: str, values: str, committed: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Print the records of TOPIC, by partition in order, up to its present end.

    A time is 2026-03-01T12:30:00Z, 10m (ago), or @ and milliseconds since 1970. --json is
    short for --format json.

    \b
    barnabas consume orders
    barnabas consume orders --from -10 --follow
    barnabas consume orders --from 1h --partition 0 --format '{offset} {key} {value}'
    barnabas consume orders --json --values json | jq .value.total
    """
    check_position(start, "--from")
    if end is not None:
        check_position(end, "--to")
    if follow and end is not None:
        raise BadInput("--follow, --to: only one of them; --follow has no end")
    show = printer("json" if as_json else form, Format(keys), Format(values))
    settings = client_settings_of(bootstrap, client_settings) | _consumer_settings(committed)
    with connected(bootstrap, client_settings) as cluster:
        known = [p["partition_index"] for p in cluster.topic(topic)["partitions"]]
        places = _places(topic, sorted(known), partitions)
        starts = positions(cluster, places, start)
        ends = None if follow else positions(cluster, places, end or "latest")
    with sentences(bootstrap):
        _read(settings, Range(starts, ends, most), show)


class Range(NamedTuple):
    """What to read: from where, up to where (on and on for None), how many at most."""

    starts: dict[Place, int]
    ends: dict[Place, int] | None
    most: int | None


def _consumer_settings(committed: bool) -> dict[str, Any]:
    return {
        "group_id": None,
        "retry_backoff_ms": RETRY_MS,  # its own 100 ms pass before the first fetch
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "exclude_internal_topics": False,
        "isolation_level": "read_committed" if committed else "read_uncommitted",
        "metrics_enabled": False,
    }


def _places(topic: str, known: list[int], wanted: tuple[int, ...]) -> list[Place]:
    for partition in wanted:
        if partition not in known:
            raise BadInput(
                f"--partition: {topic} has no partition {partition}, only 0 to {known[-1]}"
            )
    return [(topic, partition) for partition in wanted or known]


def _read(settings: dict[str, Any], wanted: Range, show: Print) -> None:
    left = {p for p, at in wanted.starts.items() if wanted.ends is None or at < wanted.ends[p]}
    if not left:
        return
    partition = kafka().TopicPartition
    consumer = kafka().KafkaConsumer(**settings)
    try:
        consumer.assign([partition(*place) for place in sorted(left)])
        for place in left:
            consumer.seek(partition(*place), wanted.starts[place])
        _print_all(consumer, wanted, left, show)
    finally:
        consumer.close(autocommit=False)


def _print_all(consumer: Any, wanted: Range, left: set[Place], show: Print) -> None:
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    still = wanted.most
    while left and still != 0:
        for where, records in consumer.poll(POLL_MS, max_records=RECORDS_PER_POLL).items():
            end = None if wanted.ends is None else wanted.ends[where]
            taken = [record for record in records if end is None or record.offset < end][:still]
            for record in taken:
                write(show(record))
            still = None if still is None else still - len(taken)
        flush()
        if wanted.ends is not None:
            _drop_done(consumer, wanted.ends, left)


def _drop_done(consumer: Any, ends: dict[Place, int], left: set[Place]) -> None:
    """Pause what is read to its end; control records move a position without being seen."""
    partition = kafka().TopicPartition
    for place in list(left):
        where = partition(*place)
        if consumer.position(where) >= ends[place]:
            consumer.pause(where)
            left.discard(place)
