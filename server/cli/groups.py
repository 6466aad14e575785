"""`barnabas groups`: list and describe groups, delete them, move their offsets."""

import sys
from typing import Any

import click

from barnabas.server.cli.completion import complete_groups, complete_topics
from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.offsets import EARLIEST, LATEST, Place, offsets_once_led
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, note, print_rows
from barnabas.server.cli.times import FORMS, parse_time_ms

STATES_WITHOUT_MEMBERS = ("Empty", "Dead", None)
SUMMARY_COLUMNS = ("group", "state", "type", "assignor", "coordinator", "members", "topics", "lag")
PLACE_COLUMNS = ("group", "state", "topic", "partition", "committed", "end_offset", "lag",
                 "client", "host")  # fmt: skip
MEMBER_COLUMNS = ("group", "member", "client", "host", "instance", "partitions")
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
@click.option("--summary", is_flag=True, help="One row a group: members, coordinator, all lag.")
@click.option("--members", is_flag=True, help="One row a member, with its partitions.")
@bootstrap_option
@client_option
@json_option
def describe(
    names: tuple[str, ...], summary: bool, members: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Show what groups have committed, how far behind they are, and who reads what.

    On a terminal the summary comes first.

    \b
    barnabas groups describe billing
    barnabas groups describe billing --summary
    barnabas groups describe billing --json | jq -s 'map(.lag) | add'
    """
    from barnabas.server.cli.group_views import member_rows, rows_of, summary_of

    if summary and members:
        raise BadInput("--summary, --members: only one of them")
    with connected(bootstrap, client_settings) as cluster:
        if members:
            found = [row for name in names for row in member_rows(cluster, name)]
            print_rows(found, MEMBER_COLUMNS, as_json=as_json)
            return
        rows = {name: rows_of(cluster, name) for name in names}
        wants_summary = summary or (sys.stdout.isatty() and not as_json)
        summaries = [summary_of(cluster, *each) for each in rows.items()] if wants_summary else []
    if summaries:
        print_rows(summaries, SUMMARY_COLUMNS, as_json=as_json)
    if not summary:
        every = [row for each in rows.values() for row in each]
        columns = PLACE_COLUMNS[2:] if len(summaries) == 1 else PLACE_COLUMNS
        print_rows(every, columns, as_json=as_json)


@groups.command()
@groups_argument
@click.option("--topic", "topics", multiple=True, metavar="TOPIC[:PARTITION,…]",
              shell_complete=complete_topics,
              help="Only what it has committed for these; members may not read them.")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
@client_option
@json_option
def delete(
    names: tuple[str, ...], topics: tuple[str, ...], yes: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Delete groups that have no members, with their offsets; asks first on a terminal.

    \b
    barnabas groups delete billing
    barnabas groups delete billing --topic orders:0,1 --topic payments
    """
    from barnabas.server.cli.group_views import check_exists

    what = "all offsets" if not topics else f"only its offsets of {', '.join(topics)}"
    with connected(bootstrap, client_settings) as cluster:
        for name in names:
            check_exists(cluster, name)
        if not yes and sys.stdin.isatty():
            click.confirm(f"Delete {', '.join(names)}, {what}?", abort=True, err=True)
        if topics:
            _delete_offsets(cluster, names, topics, as_json=as_json)
            return
        answer = cluster.admin.delete_groups(list(names))
    gone = [{"group": name, "deleted": True} for name, said in answer.items() if said == "OK"]
    print_rows(gone, ("group", "deleted"), as_json=as_json)
    refused = [f"{name} was not deleted: {_reason(said)}" for name, said in answer.items()
               if said != "OK"]  # fmt: skip
    if refused:
        raise Failure("; ".join(refused))


def _delete_offsets(
    cluster: Cluster, names: tuple[str, ...], topics: tuple[str, ...], *, as_json: bool
) -> None:
    from barnabas.server.cli.group_views import committed_offsets, delete_offsets
    from barnabas.server.cli.offsets import parsed_place

    wanted = [parsed_place(text) for text in topics]
    rows, reasons = list[Row](), list[str]()
    for name in names:
        places = [
            (topic, number)
            for topic, number in sorted(committed_offsets(cluster, name))
            if any(topic == each and (n is None or number in n) for each, n in wanted)
        ]
        if not places:
            raise Failure(f"{name} has committed nothing for {', '.join(topics)}")
        refused = delete_offsets(cluster, name, places)
        rows += [{"group": name, "topic": topic, "partition": number, "deleted": True}
                 for topic, number in places if (topic, number) not in refused]  # fmt: skip
        reasons += [f"{name}: {topic} {number}: {why}" for (topic, number), why in refused.items()]
    print_rows(rows, ("group", "topic", "partition", "deleted"), as_json=as_json)
    if reasons:
        raise Failure(f"not deleted: {'; '.join(reasons)}")


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
    given = [name for name, value in target.items() if value is not None and value is not False]
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
    starts = offsets_once_led(cluster, places, EARLIEST)
    if target["to_earliest"]:
        return starts
    ends = offsets_once_led(cluster, places, LATEST)
    if target["to_latest"]:
        return ends
    if target["to_time"]:
        wanted = offsets_once_led(cluster, places, parse_time_ms(target["to_time"]) or 0)
    elif target["to_offset"] is not None:
        wanted = dict.fromkeys(places, target["to_offset"])
    else:
        wanted = {p: before.get(p, starts[p]) + target["shift_by"] for p in places}
    return {place: min(max(wanted[place], starts[place]), ends[place]) for place in places}
