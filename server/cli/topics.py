"""`barnabas topics`: list, create, describe, delete and alter topics."""

import sys
from typing import Any

import click

from barnabas.server.cli.completion import (
    complete_setting_names,
    complete_topic_settings,
    complete_topics,
)
from barnabas.server.cli.connection import Cluster, check_topic_name, connected, problem
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.options import (
    Option,
    bootstrap_option,
    client_option,
    json_option,
    named_values,
)
from barnabas.server.cli.output import Row, note, print_rows
from barnabas.server.cli.reassign import elect_leaders, reassign
from barnabas.server.cli.topic_details import describe
from barnabas.server.cli.topic_patterns import is_pattern, named_topics
from barnabas.server.cli.topics_option import names_argument
from barnabas.server.cli.trim import trim

TOPIC_ALREADY_EXISTS = 36
settings_option = click.option(
    "--set",
    "-c",
    "settings",
    shell_complete=complete_topic_settings,
    cls=Option,
    also=("--config", "--topic-config"),
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the topic.",
)


@click.group(cls=HelpfulGroup)
def topics() -> None:
    """List, create, describe, delete and alter topics; move their replicas and leaders."""


topics.add_command(reassign)
topics.add_command(elect_leaders)
topics.add_command(describe)
topics.add_command(trim)


@topics.command("list")
@click.argument("names", nargs=-1, metavar="[TOPIC…]", shell_complete=complete_topics)
@click.option("--internal", is_flag=True, help="The cluster's own topics too.")
@bootstrap_option
@client_option
@json_option
def list_topics(
    names: tuple[str, ...], internal: bool, bootstrap: str, client_settings: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """List the topics, or those that are called so or fit a pattern.

    \b
    barnabas topics list
    barnabas topics list 'orders-*' '/audit-[0-9]+/'
    barnabas topics list --internal --json
    """
    with connected(bootstrap, client_settings) as cluster:
        found = cluster.topics()
        wanted = named_topics(cluster, names) if names else sorted(found)
        for name in wanted:
            if name not in found:
                cluster.topic(name)
    rows = [_summary(found[name]) for name in wanted
            if internal or names or not found[name]["is_internal"]]  # fmt: skip
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
@click.option("--partitions", "-p", type=click.IntRange(1), help="How many; the broker's default.")
@click.option("--replication-factor", "-r", cls=Option, also=("--replicas",),
              type=click.IntRange(1), help="The broker's default.")  # fmt: skip
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
        found = cluster.topics_once_known(made) if made else {}
    rows = [_summary(found[name]) for name in made]
    print_rows(rows, ("topic", "partitions", "replication_factor"), as_json=as_json)
    _fail_for(refused, "created")


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

    What a pattern stands for is only shown without --yes.

    \b
    barnabas topics delete orders
    barnabas topics delete orders 'test-*' --yes
    """
    with connected(bootstrap, client_settings) as cluster:
        found = named_topics(cluster, names)
        for name in found:
            cluster.topic(name, advice="`barnabas topics list` shows them all")
        if not yes and sys.stdin.isatty():
            click.confirm(f"Delete {', '.join(found)} and all records?", abort=True, err=True)
        elif not yes and any(map(is_pattern, names)):
            print_rows(({"topic": name, "deleted": False} for name in found),
                       ("topic", "deleted"), as_json=as_json)  # fmt: skip
            note("nothing is deleted yet; --yes does it, for good")
            return
        answer = cluster.admin.delete_topics(found, raise_errors=False)["topics"]
    gone = [
        {"topic": topic["name"], "deleted": True} for topic in answer if not topic["error_code"]
    ]
    print_rows(gone, ("topic", "deleted"), as_json=as_json)
    _fail_for([topic for topic in answer if topic["error_code"]], "deleted")


@topics.command()
@click.argument("name", metavar="TOPIC", shell_complete=complete_topics)
@click.option(
    "--partitions", "-p", type=click.IntRange(1), help="The new number; it can only grow."
)
@settings_option
@click.option("--unset", multiple=True, metavar="NAME", shell_complete=complete_setting_names,
              help="Back to the broker's setting.")  # fmt: skip
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
