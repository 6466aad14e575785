"""`barnabas configs`: get, set and unset settings of topics, brokers, loggers and groups."""

import click

from barnabas.server.cli.completion import complete_setting_names, complete_settings
from barnabas.server.cli.config_requests import (
    BROKER,
    BROKER_LOGGER,
    GROUP,
    TOPIC,
    Resource,
    alter_settings,
    settings_of,
)
from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import BadInput, Failure, did_you_mean
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.options import bootstrap_option, client_option, json_option, named_values
from barnabas.server.cli.output import Row, print_rows
from barnabas.server.cli.whole_numbers import whole_number

ALL_BROKERS = "default"
kind_argument = click.argument("kind", type=click.Choice([TOPIC, BROKER, BROKER_LOGGER, GROUP]))
name_argument = click.argument("name", metavar="NAME")


@click.group(cls=HelpfulGroup)
def configs() -> None:
    """Get, set and unset settings.

    NAME is a topic, a group, or the id of a broker; `default` stands for all brokers.
    """


@configs.command()
@kind_argument
@name_argument
@click.argument("settings", nargs=-1, metavar="[SETTING…]",
                shell_complete=complete_setting_names)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Those with their default value too.")
@bootstrap_option
@client_option
@json_option
def get(
    kind: str, name: str, settings: tuple[str, ...], everything: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Show settings and where their values come from.

    Without SETTING and --all only those that were set for this NAME.

    \b
    barnabas configs get topic orders
    barnabas configs get topic orders retention.ms cleanup.policy
    barnabas configs get broker 0 --all --json
    """
    resource = _resource(kind, name)
    with connected(bootstrap, client_settings) as cluster:
        _check_topic(cluster, resource)
        found = settings_of(cluster, resource, None)
    _check_known(settings, found, resource)
    if settings:
        found = [row for row in found if row["name"] in settings]
    elif not everything:
        own = {TOPIC: "topic", BROKER: "broker", BROKER_LOGGER: "logger", GROUP: "group"}[kind]
        found = [row for row in found if row["source"] in (own, *_shared_source(resource))]
    print_rows(found, ("name", "value", "source", "read_only"), as_json=as_json)


def _shared_source(resource: Resource) -> tuple[str, ...]:
    return ("cluster",) if resource.kind == BROKER else ()


@configs.command("set")
@kind_argument
@name_argument
@click.argument("pairs", nargs=-1, required=True, metavar="SETTING=VALUE…",
                shell_complete=complete_settings)  # fmt: skip
@bootstrap_option
@client_option
@json_option
def set_(
    kind: str, name: str, pairs: tuple[str, ...], bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Set settings; all of them or, when one is refused, none.

    \b
    barnabas configs set topic orders retention.ms=86400000 max.message.bytes=2000000
    barnabas configs set broker default log.cleaner.threads=2
    """
    _alter(bootstrap, client_settings, _resource(kind, name),
           named_values(pairs, "SETTING=VALUE"), (), as_json=as_json)  # fmt: skip


@configs.command()
@kind_argument
@name_argument
@click.argument("settings", nargs=-1, required=True, metavar="SETTING…",
                shell_complete=complete_setting_names)  # fmt: skip
@bootstrap_option
@client_option
@json_option
def unset(
    kind: str, name: str, settings: tuple[str, ...], bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Take settings back, so that the defaults hold again.

    \b
    barnabas configs unset topic orders retention.ms
    """
    _alter(bootstrap, client_settings, _resource(kind, name), {}, settings, as_json=as_json)


def _alter(
    bootstrap: str, client_settings: tuple[str, ...], resource: Resource,
    wanted: dict[str, str], unwanted: tuple[str, ...], *, as_json: bool,
) -> None:  # fmt: skip
    with connected(bootstrap, client_settings) as cluster:
        _check_topic(cluster, resource)
        if unwanted and resource.kind == TOPIC:
            _check_known(unwanted, settings_of(cluster, resource, None), resource)
        alter_settings(cluster, resource, wanted, unwanted)
    rows = [
        {"kind": resource.kind, "resource": resource.name, "name": name, "value": wanted.get(name)}
        for name in (*wanted, *unwanted)
    ]
    print_rows(rows, ("kind", "resource", "name", "value"), as_json=as_json)


def _resource(kind: str, name: str) -> Resource:
    if kind in (BROKER, BROKER_LOGGER) and whole_number(name) is None:
        if kind == BROKER and name == ALL_BROKERS:
            return Resource(kind, "")
        raise BadInput(f"NAME: {name!r} is not the id of a broker, as in `broker 0`")
    return Resource(kind, name)


def _check_topic(cluster: Cluster, resource: Resource) -> None:
    if resource.kind == TOPIC:
        cluster.topic(resource.name)


def _check_known(names: tuple[str, ...], found: list[Row], resource: Resource) -> None:
    known = [str(row["name"]) for row in found]
    for name in names:
        if name not in known:
            raise Failure(f"{resource} has no setting {name}{did_you_mean(name, known)}")
