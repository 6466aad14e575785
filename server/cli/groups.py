"""`barnabas groups`: list and describe groups, delete them, move their offsets."""

import sys
from typing import Any

import click

from barnabas.server.cli.completion import complete_groups, complete_topics
from barnabas.server.cli.connection import (
    Cluster,
    bootstrap_option,
    client_option,
    connected,
    json_option,
)
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.offsets import EARLIEST, LATEST, Place, offsets_of
from barnabas.server.cli.output import Row, note, print_rows
from barnabas.server.cli.times import FORMS, parse_time_ms

STATES_WITHOUT_MEMBERS = ("Empty", "Dead", None)
groups_argument = click.argument(
    "names", nargs=-1, required=True, metavar="GROUP…", shell_complete=complete_groups
)


@click.group(cls=HelpfulGroup)
def groups() -> None:
    """List and describe groups, delete them, move their offsets."""


@groups.command("list")
@bootstrap_option
@client_option
@json_option
def list_groups(bootstrap: str, client_settings: tuple[str, ...], as_json: bool) -> None:
    """List the groups.

    \b
    barnabas groups list
    """
    from barnabas.server.cli.group_views import listed

    with connected(bootstrap, client_settings) as cluster:
        found = sorted(listed(cluster).items())
    rows = [row for _, row in found]
    print_rows(rows, ("group", "type", "protocol", "state"), as_json=as_json)
    if not rows and not as_json:
        note("no groups")


@groups.command()
@groups_argument
@bootstrap_option
@client_option
@json_option
def describe(
    names: tuple[str, ...], bootstrap: str, client_settings: tuple[str, ...], as_json: bool
) -> None:
    """Show what groups have committed, how far behind they are, and who reads what.

    \b
    barnabas groups describe billing
    barnabas groups describe billing --json | jq -s 'map(.lag) | add'
    """
    from barnabas.server.cli.group_views import rows_of

    with connected(bootstrap, client_settings) as cluster:
        rows = [row for name in names for row in rows_of(cluster, name)]
    columns = ("group", "state", "topic", "partition", "committed", "end_offset", "lag",
               "client", "host")  # fmt: skip
    print_rows(rows, columns, as_json=as_json)


@groups.command()
@groups_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
@client_option
@json_option
def delete(
    names: tuple[str, ...], yes: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Delete groups that have no members, with their offsets; asks first on a terminal.

    \b
    barnabas groups delete billing
    """
    from barnabas.server.cli.group_views import check_exists

    with connected(bootstrap, client_settings) as cluster:
        for name in names:
            check_exists(cluster, name)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Delete {', '.join(names)} and all offsets?", abort=True, err=True)
        answer = cluster.admin.delete_groups(list(names))
    gone = [{"group": name, "deleted": True} for name, said in answer.items() if said == "OK"]
    print_rows(gone, ("group", "deleted"), as_json=as_json)
    refused = [f"{name} was not deleted: {_reason(said)}" for name, said in answer.items()
               if said != "OK"]  # fmt: skip
    if refused:
        raise Failure("; ".join(refused))


def _reason(said: str) -> str:
    return "it has members; stop them first" if said == "NonEmptyGroupError" else said


@groups.command("reset-offsets")
@click.argument("group", metavar="GROUP", shell_complete=complete_groups)
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:PARTITION,…]",
              shell_complete=complete_topics,
              help="Only these; all that the group has committed without it.")  # fmt: skip
@click.option("--to-earliest", is_flag=True, help="To the start of each partition.")
@click.option("--to-latest", is_flag=True, help="To the end of each partition.")
@click.option("--to-time", metavar="TIME", help="To the first record at or after a time.")
@click.option("--to-offset", type=click.IntRange(0), metavar="N", help="To this offset.")
@click.option("--shift-by", type=int, metavar="N", help="N records on, or back if negative.")
@click.option("--yes", is_flag=True, help="Do it; without this only the plan is shown.")
@bootstrap_option
@client_option
@json_option
def reset_offsets(
    group: str, topics: tuple[str, ...], yes: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool, **target: Any,
) -> None:  # fmt: skip
    """Move the offsets of a group that has no members: shows the plan, does it with --yes.

    An offset outside a partition becomes its start or its end.

    \b
    barnabas groups reset-offsets billing --to-earliest
    barnabas groups reset-offsets billing --topic orders:0,1 --to-time 2026-03-01 --yes
    barnabas groups reset-offsets billing --shift-by -100 --yes
    """
    from barnabas.server.cli.group_views import commit

    _check_target(target)
    with connected(bootstrap, client_settings) as cluster:
        plan = _plan(cluster, group, topics, target)
        wanted = {(row["topic"], row["partition"]): row["to"] for row in plan}
        refused = commit(cluster, group, wanted) if yes and wanted else {}
    for row in plan:
        row["done"] = yes and (row["topic"], row["partition"]) not in refused
    columns = ("topic", "partition", "from", "to", "change", "done")
    print_rows(plan, columns, as_json=as_json)
    if refused:
        (topic, partition), reason = next(iter(refused.items()))
        raise Failure(f"{group}: {topic} {partition} was not moved: {reason}")
    if not yes and plan:
        note("nothing is changed yet; --yes does it")


def _check_target(target: dict[str, Any]) -> None:
    given = [name for name, value in target.items() if value not in (None, False)]
    if len(given) != 1:
        raise BadInput(
            "say where to: one of --to-earliest, --to-latest, --to-time, --to-offset, --shift-by"
        )
    if target["to_time"] and parse_time_ms(target["to_time"]) is None:
        raise BadInput(f"--to-time: {target['to_time']!r} is no time; {FORMS} are")


def _plan(
    cluster: Cluster, group: str, topics: tuple[str, ...], target: dict[str, Any]
) -> list[Row]:
    from barnabas.server.cli.group_views import (
        check_exists,
        chosen_places,
        committed_offsets,
    )

    if not topics:
        check_exists(cluster, group)
    _check_no_members(cluster, group)
    places = chosen_places(cluster, group, topics)
    if not places:
        raise Failure(f"{group} has committed nothing; --topic TOPIC says which partitions")
    before = committed_offsets(cluster, group)
    after = _targets(cluster, places, before, target)
    return [
        {
            "group": group,
            "topic": place[0],
            "partition": place[1],
            "from": before.get(place),
            "to": after[place],
            "change": after[place] - before[place] if place in before else None,
        }
        for place in places
    ]


def _check_no_members(cluster: Cluster, group: str) -> None:
    from barnabas.server.cli.group_views import listed

    found = listed(cluster).get(group)
    if found is not None and found["state"] not in STATES_WITHOUT_MEMBERS:
        raise Failure(f"{group} is {found['state']}, it has members; stop them first")


def _targets(
    cluster: Cluster, places: list[Place], before: dict[Place, int], target: dict[str, Any]
) -> dict[Place, int]:
    starts = offsets_of(cluster, places, EARLIEST)
    if target["to_earliest"]:
        return starts
    ends = offsets_of(cluster, places, LATEST)
    if target["to_latest"]:
        return ends
    if target["to_time"]:
        wanted = offsets_of(cluster, places, parse_time_ms(target["to_time"]) or 0)
    elif target["to_offset"] is not None:
        wanted = dict.fromkeys(places, target["to_offset"])
    else:
        wanted = {p: before.get(p, starts[p]) + target["shift_by"] for p in places}
    return {place: min(max(wanted[place], starts[place]), ends[place]) for place in places}
