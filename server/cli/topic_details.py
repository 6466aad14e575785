"""`barnabas topics describe`: partitions with their offsets and sizes, and settings in force."""

import sys
from typing import Any

import click

from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import Failure
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, counted, print_rows
from barnabas.server.cli.topic_patterns import named_topics
from barnabas.server.cli.topics_option import names_argument

COLUMNS = ("topic", "partition", "leader", "replicas", "in_sync", "start_offset", "end_offset",
           "records", "bytes")  # fmt: skip
SETTING_COLUMNS = ("topic", "name", "value", "source")


@click.command()
@names_argument
@click.option("--settings", is_flag=True, help="All settings in force instead of the partitions.")
@bootstrap_option
@client_option
@json_option
def describe(
    names: tuple[str, ...], settings: bool, bootstrap: str, client_settings: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """Show the partitions of topics: leader, replicas, offsets, records and bytes.

    On a terminal a summary and the settings that are not at their default come first. Records
    are the offsets from start to end, more than there are where a topic is compacted; bytes are
    those of the largest replica.

    \b
    barnabas topics describe orders
    barnabas topics describe 'orders-*' --json | jq .end_offset
    barnabas topics describe orders --settings
    """
    with connected(bootstrap, client_settings) as cluster:
        found = named_topics(cluster, names)
        rows = [row for name in found for row in partition_rows(cluster, name)]
        if not settings and not sys.stdout.isatty():
            print_rows(rows, COLUMNS, as_json=as_json)
            return
        in_force = [row for name in found for row in _settings(cluster, name)]
    if settings:
        print_rows(in_force, SETTING_COLUMNS, as_json=as_json)
    elif as_json:
        print_rows(rows, COLUMNS, as_json=True)
    else:
        for name in found:
            _print(name, [r for r in rows if r["topic"] == name],
                   [r for r in in_force if r["topic"] == name])  # fmt: skip


def partition_rows(cluster: Cluster, name: str) -> list[Row]:
    """The partitions of a topic, in their order."""
    from barnabas.server.cli.offsets import EARLIEST, LATEST, offsets_to_be_had
    from barnabas.server.cli.sizes import copies, directories_of, largest

    partitions = sorted(cluster.topic(name)["partitions"], key=lambda p: int(p["partition_index"]))
    places = [(name, p["partition_index"]) for p in partitions if p["leader_id"] >= 0]
    starts, ends = (offsets_to_be_had(cluster, places, each) for each in (EARLIEST, LATEST))
    holders = {broker for p in partitions for broker in p["replica_nodes"]}
    sizes = largest(copies(directories_of(cluster, holders, [name])))
    return [_row(name, each, starts, ends, sizes) for each in partitions]


def _row(name: str, partition: dict[str, Any], starts: Any, ends: Any, sizes: Any) -> Row:
    place = (name, partition["partition_index"])
    start, end = starts.get(place), ends.get(place)
    return {
        "topic": name,
        "partition": partition["partition_index"],
        "leader": partition["leader_id"] if partition["leader_id"] >= 0 else None,
        "replicas": partition["replica_nodes"],
        "in_sync": partition["isr_nodes"],
        "start_offset": start,
        "end_offset": end,
        "records": None if start is None or end is None else end - start,
        "bytes": sizes.get(place),
    }


def _settings(cluster: Cluster, name: str) -> list[Row]:
    from barnabas.server.cli.config_requests import TOPIC, Resource, settings_of

    try:
        found = settings_of(cluster, Resource(TOPIC, name), None)
    except Failure:
        return []  # not everybody may see settings
    return [{"topic": name, **row} for row in found]


def _print(name: str, rows: list[Row], settings: list[Row]) -> None:
    from barnabas.server.cli.sizes import in_words

    replicas = max((len(row["replicas"]) for row in rows), default=0)
    records = sum(row["records"] or 0 for row in rows)
    size = in_words(sum(row["bytes"] or 0 for row in rows))
    click.secho(name, bold=True, nl=False)
    click.echo(f": {counted(len(rows), 'partition')}, replication factor {replicas},"
               f" {counted(records, 'record')}, {size}")  # fmt: skip
    for row in settings:
        if row["source"] not in ("default", "file"):
            click.echo(f"  {row['name']}={row['value']} ({row['source']})")
    print_rows(rows, COLUMNS[1:], as_json=False)
