"""`barnabas transactions`: list and describe transactional ids, end transactions that hang."""

import re
import sys

import click

from barnabas.server.cli.completion import complete_topics, complete_transactional_ids
from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.offsets import Place, places_of
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, note, print_rows
from barnabas.server.cli.transaction_requests import (
    ALL_DURATIONS,
    NO_EPOCH,
    NO_OFFSET,
    NO_TIME,
    Filters,
    Producer,
)
from barnabas.server.core.units import parse_duration_ms

PRODUCER_ID = click.IntRange(0, 2**63 - 1)
# Kafka's; what a broker does not know of them it lists nothing for.
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
          "Dead", "PrepareEpochFence")  # fmt: skip


def _duration_ms(ctx: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """15m, 1h 30m or 2 days, as milliseconds; BadInput for what is none."""
    try:
        return None if value is None else parse_duration_ms(value)
    except ValueError as error:
        raise BadInput(f"{option.opts[0]}: {error}") from None


@click.group(cls=HelpfulGroup)
def transactions() -> None:
    """List and describe transactional ids; find transactions that hang, and end them."""


@transactions.command("list")
@click.option("--state", "states", multiple=True,
              type=click.Choice(STATES, case_sensitive=False),
              help="Only those in this state; may be given more than once.")  # fmt: skip
@click.option("--producer-id", "producer_ids", type=PRODUCER_ID, multiple=True,
              help="Only this producer's; may be given more than once.")  # fmt: skip
@click.option("--longer-than", "duration_ms", callback=_duration_ms, metavar="DURATION",
              help="Only those that began so long ago, as in 15m.")  # fmt: skip
@click.option("--pattern", metavar="REGEX", help="Only ids that match it from end to end.")
@bootstrap_option
@client_option
@json_option
def list_transactions(
    states: tuple[str, ...], producer_ids: tuple[int, ...], duration_ms: float | None,
    pattern: str | None, bootstrap: str, client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """List the transactional ids.

    \b
    barnabas transactions list
    barnabas transactions list --state ongoing --longer-than 15m
    barnabas transactions list --pattern 'billing-.*' --json
    """
    from barnabas.server.cli.transaction_requests import listed

    wanted = Filters(
        states,
        producer_ids,
        ALL_DURATIONS if duration_ms is None else round(duration_ms),
        None if pattern is None else _compiled(pattern),
    )
    with connected(bootstrap, client_settings) as cluster:
        found = sorted(listed(cluster, wanted).items())
    columns = ("transactional_id", "state", "producer_id", "coordinator")
    print_rows([row for _, row in found], columns, as_json=as_json)
    if not found and not as_json:
        note("no transactional ids")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadInput(f"--pattern: {pattern!r} is no regular expression: {error}") from None


@transactions.command()
@click.argument("names", nargs=-1, required=True, metavar="TRANSACTIONAL_ID…",
                shell_complete=complete_transactional_ids)  # fmt: skip
@bootstrap_option
@client_option
@json_option
def describe(
    names: tuple[str, ...], bootstrap: str, client_settings: tuple[str, ...], as_json: bool
) -> None:
    """Show transactional ids: state, producer, partitions.

    \b
    barnabas transactions describe billing-1
    barnabas transactions describe billing-1 --json | jq .duration_ms
    """
    from barnabas.server.cli.transaction_requests import described

    with connected(bootstrap, client_settings) as cluster:
        found = [described(cluster, name) for name in names]
    rows: list[Row] = []
    for row, places in found:
        rows += [row | {"topic": topic, "partition": number} for topic, number in places]
        if not places:
            rows.append(row | {"topic": None, "partition": None})
    columns = ("transactional_id", "state", "coordinator", "producer_id", "producer_epoch",
               "timeout_ms", "duration_ms", "topic", "partition")  # fmt: skip
    print_rows(rows, columns, as_json=as_json)


@transactions.command()
@click.argument("topic", metavar="TOPIC", shell_complete=complete_topics)
@click.option("--partition", type=click.IntRange(0), required=True, help="Which one.")
@click.option("--start-offset", type=click.IntRange(0), metavar="N",
              help="Where the transaction begins in it, as find-hanging shows.")  # fmt: skip
@click.option("--producer-id", type=PRODUCER_ID, help="Whose transaction it is.")
@click.option("--producer-epoch", type=click.IntRange(0, 2**15 - 1),
              help="With --coordinator-epoch: asks the partition nothing first.")  # fmt: skip
@click.option("--coordinator-epoch", type=click.IntRange(-1, 2**31 - 1), help="-1 for none.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
@client_option
@json_option
def abort(
    topic: str, partition: int, start_offset: int | None, producer_id: int | None,
    producer_epoch: int | None, coordinator_epoch: int | None, yes: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Abort a transaction in one partition; asks first on a terminal.

    This is for transactions that hang: the coordinator is not asked. One that it may still commit
    would be aborted here and committed elsewhere.

    \b
    barnabas transactions abort orders --partition 0 --start-offset 1500
    barnabas transactions abort orders --partition 0 --producer-id 4000
    """
    from barnabas.server.cli.transaction_requests import write_abort

    if (start_offset is None) == (producer_id is None):
        raise BadInput("say which transaction: --start-offset or --producer-id")
    if (producer_epoch is None) != (coordinator_epoch is None) or (
        producer_epoch is not None and producer_id is None
    ):
        raise BadInput("--producer-epoch and --coordinator-epoch go together, with --producer-id")
    with connected(bootstrap, client_settings) as cluster:
        places_of(cluster, topic, (partition,), "--partition")
        if producer_id is None or producer_epoch is None:
            producer = _open_there(cluster, (topic, partition), start_offset, producer_id)
        else:
            epoch = NO_EPOCH if coordinator_epoch is None else coordinator_epoch
            producer = Producer(
                topic, partition, producer_id, producer_epoch, epoch, NO_OFFSET, NO_TIME
            )
        if not yes and sys.stdin.isatty():
            question = f"Abort the transaction of producer {producer.producer_id} in {topic}"
            click.confirm(f"{question} {partition}?", abort=True, err=True)
        write_abort(cluster, (topic, partition), producer)
    columns = ("topic", "partition", "producer_id", "producer_epoch", "start_offset", "aborted")
    row = _row(producer) | {"aborted": True}
    print_rows([row], columns, as_json=as_json)


def _open_there(
    cluster: Cluster, place: Place, start_offset: int | None, producer_id: int | None
) -> Producer:
    """The producer whose open transaction is meant. Failure tells which there are."""
    from barnabas.server.cli.transaction_requests import producers

    found = [each for each in producers(cluster, [place]) if each.is_in_transaction]
    for each in found:
        if start_offset == each.start_offset or producer_id == each.producer_id:
            return each
    there = ", ".join(
        f"at {each.start_offset} of producer {each.producer_id}"
        for each in sorted(found, key=lambda each: each.start_offset)
    )
    wanted = f"at {start_offset}" if producer_id is None else f"of producer {producer_id}"
    raise Failure(
        f"{place[0]} {place[1]} has no open transaction {wanted}"
        + (f"; there are those {there}" if there else ", nor any other")
    )


@transactions.command("find-hanging")
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:PARTITION,…]",
              shell_complete=complete_topics, help="Only these; all without it.")  # fmt: skip
@click.option("--max-transaction-timeout", "timeout_ms", callback=_duration_ms, default="15m",
              show_default=True, metavar="DURATION",
              help="The highest that producers may have: transaction.max.timeout.ms.")  # fmt: skip
@bootstrap_option
@client_option
@json_option
def find_hanging(
    topics: tuple[str, ...], timeout_ms: float, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Find transactions that no coordinator will ever end.

    They are open in a partition, and readers of committed records wait before them.
    `barnabas transactions abort` ends one.

    \b
    barnabas transactions find-hanging
    barnabas transactions find-hanging --topic orders:0,1 --max-transaction-timeout 1h
    """
    from barnabas.server.cli.transaction_requests import hanging

    with connected(bootstrap, client_settings) as cluster:
        found = hanging(cluster, _places(cluster, topics), timeout_ms)
    rows = [_row(each) for each in sorted(found)]
    columns = ("topic", "partition", "producer_id", "producer_epoch", "start_offset",
               "duration_ms")  # fmt: skip
    print_rows(rows, columns, as_json=as_json)
    if not rows and not as_json:
        note("no transaction hangs")


def _places(cluster: Cluster, topics: tuple[str, ...]) -> list[Place]:
    """The partitions that --topic names; without it all, but those that nobody leads."""
    from barnabas.server.cli.offsets import named_places
    from barnabas.server.cli.transaction_requests import leaders_of

    if topics:
        return named_places(cluster, topics)
    return sorted(leaders_of(cluster))


def _row(producer: Producer) -> Row:
    from barnabas.server.cli.transaction_requests import now_ms

    is_known = producer.last_ms != NO_TIME
    return {
        "topic": producer.topic,
        "partition": producer.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "coordinator_epoch": producer.coordinator_epoch,
        "start_offset": producer.start_offset if producer.is_in_transaction else None,
        "last_ms": producer.last_ms if is_known else None,
        "duration_ms": now_ms() - producer.last_ms if is_known else None,
    }
