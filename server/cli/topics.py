"""`barnabas topics`: list, create, describe, delete and alter topics."""

import sys
from typing import Any

import click

from barnabas.server.cli.completion import complete_topics
from barnabas.server.cli.connection import (
    Cluster,
    bootstrap_option,
    check_topic_name,
    client_option,
    connected,
    json_option,
    named_values,
    problem,
)
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.output import Row, note, print_rows

TOPIC_ALREADY_EXISTS = 36
names_argument = click.argument(
    "names", nargs=-1, required=True, metavar="TOPIC…", shell_complete=complete_topics
)
settings_option = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the topic."
)


@click.group(cls=HelpfulGroup)
def topics() -> None:
    """List, create, describe, delete and alter topics."""


@topics.command("list")
@click.option("--internal", is_flag=True, help="The cluster's own topics too.")
@bootstrap_option
@client_option
@json_option
def list_topics(
    internal: bool, bootstrap: str, client_settings: tuple[str, ...], as_json: bool
) -> None:
    """List the topics.

    \b
    barnabas topics list
    barnabas topics list --internal --json
    """
    with connected(bootstrap, client_settings) as cluster:
        found = sorted(cluster.topics().items())
    rows = [_summary(topic) for _, topic in found if internal or not topic["is_internal"]]
    print_rows(rows, ("topic", "partitions", "replication_factor"), as_json=as_json)
    if not rows and not as_json:
        note("no topics yet; `barnabas topics create NAME` makes one")


def _summary(topic: dict[str, Any]) -> Row:
    replicas = [len(partition["replica_nodes"]) for partition in topic["partitions"]]
    return {
        "topic": topic["name"],
        "partitions": len(replicas),
        "replication_factor": max(replicas, default=0),
        "internal": topic["is_internal"],
    }


@topics.command()
@names_argument
@click.option("--partitions", type=click.IntRange(1), help="How many; the broker's default.")
@click.option("--replication-factor", type=click.IntRange(1), help="The broker's default.")
@settings_option
@click.option("--if-not-exists", is_flag=True, help="A topic that is there is no error.")
@bootstrap_option
@client_option
@json_option
def create(
    names: tuple[str, ...], partitions: int | None, replication_factor: int | None,
    settings: tuple[str, ...], if_not_exists: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Create topics.

    \b
    barnabas topics create orders --partitions 6
    barnabas topics create audit --set cleanup.policy=compact --set retention.ms=-1
    """
    for name in names:
        check_topic_name(name)
    wanted = {
        "num_partitions": partitions or -1,
        "replication_factor": replication_factor or -1,
        "configs": named_values(settings, "--set"),
    }
    with connected(bootstrap, client_settings) as cluster:
        new = dict.fromkeys(names, wanted)
        answer = cluster.admin.create_topics(new, raise_errors=False)["topics"]
        refused = [topic for topic in answer if topic["error_code"]]
        if if_not_exists:
            refused = [topic for topic in refused if topic["error_code"] != TOPIC_ALREADY_EXISTS]
        made = [topic["name"] for topic in answer if not topic["error_code"]]
        if made:
            cluster.admin.wait_for_topics(made)
        found = cluster.topics(made) if made else {}
    rows = [_summary(found[name]) for name in made]
    print_rows(rows, ("topic", "partitions", "replication_factor"), as_json=as_json)
    _fail_for(refused, "created")


@topics.command()
@names_argument
@bootstrap_option
@client_option
@json_option
def describe(
    names: tuple[str, ...], bootstrap: str, client_settings: tuple[str, ...], as_json: bool
) -> None:
    """Show the partitions of topics: leader, replicas, offsets.

    \b
    barnabas topics describe orders
    barnabas topics describe orders --json | jq .end_offset
    """
    with connected(bootstrap, client_settings) as cluster:
        rows = [row for name in names for row in _partition_rows(cluster, name)]
    columns = ("topic", "partition", "leader", "replicas", "in_sync", "start_offset", "end_offset")
    print_rows(rows, columns, as_json=as_json)


def _partition_rows(cluster: Cluster, name: str) -> list[Row]:
    from barnabas.server.cli.offsets import EARLIEST, LATEST, offsets_of

    partitions = sorted(cluster.topic(name)["partitions"], key=lambda p: int(p["partition_index"]))
    places = [(name, p["partition_index"]) for p in partitions if p["leader_id"] >= 0]
    starts, ends = offsets_of(cluster, places, EARLIEST), offsets_of(cluster, places, LATEST)
    return [
        {
            "topic": name,
            "partition": partition["partition_index"],
            "leader": partition["leader_id"] if partition["leader_id"] >= 0 else None,
            "replicas": partition["replica_nodes"],
            "in_sync": partition["isr_nodes"],
            "start_offset": starts.get((name, partition["partition_index"])),
            "end_offset": ends.get((name, partition["partition_index"])),
        }
        for partition in partitions
    ]


@topics.command()
@names_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
@client_option
@json_option
def delete(
    names: tuple[str, ...], yes: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Delete topics and all their records; asks first on a terminal.

    \b
    barnabas topics delete orders
    barnabas topics delete orders payments --yes
    """
    with connected(bootstrap, client_settings) as cluster:
        for name in names:
            cluster.topic(name)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Delete {', '.join(names)} and all records?", abort=True, err=True)
        answer = cluster.admin.delete_topics(list(names), raise_errors=False)["topics"]
    gone = [
        {"topic": topic["name"], "deleted": True} for topic in answer if not topic["error_code"]
    ]
    print_rows(gone, ("topic", "deleted"), as_json=as_json)
    _fail_for([topic for topic in answer if topic["error_code"]], "deleted")


@topics.command()
@click.argument("name", metavar="TOPIC", shell_complete=complete_topics)
@click.option("--partitions", type=click.IntRange(1), help="The new number; it can only grow.")
@settings_option
@click.option("--unset", multiple=True, metavar="NAME", help="Back to the broker's setting.")
@bootstrap_option
@client_option
@json_option
def alter(
    name: str, partitions: int | None, settings: tuple[str, ...], unset: tuple[str, ...],
    bootstrap: str, client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Add partitions to a topic, or change its settings.

    \b
    barnabas topics alter orders --partitions 12
    barnabas topics alter orders --set retention.ms=86400000 --unset segment.ms
    """
    from barnabas.server.cli.config_requests import TOPIC, Resource, alter_settings

    wanted = named_values(settings, "--set")
    if partitions is None and not wanted and not unset:
        raise BadInput("nothing to alter; say --partitions, --set NAME=VALUE or --unset NAME")
    with connected(bootstrap, client_settings) as cluster:
        cluster.topic(name)
        if wanted or unset:
            alter_settings(cluster, Resource(TOPIC, name), wanted, unset)
        if partitions is not None:
            _add_partitions(cluster, name, partitions)
        found = cluster.topic(name)
    print_rows([_summary(found)], ("topic", "partitions", "replication_factor"), as_json=as_json)


def _add_partitions(cluster: Cluster, name: str, count: int) -> None:
    answer = cluster.admin.create_partitions({name: count}, raise_errors=False)
    for result in answer.results:
        if result.error_code:
            raise Failure(f"{name}: {problem(result.error_code, result.error_message)}")
    cluster.admin.wait_for_topics([name])


def _fail_for(refused: list[dict[str, Any]], verb: str) -> None:
    if refused:
        reasons = (
            f"{topic['name']} was not {verb}: "
            f"{problem(topic['error_code'], topic.get('error_message'))}"
            for topic in refused
        )
        raise Failure("; ".join(reasons))
