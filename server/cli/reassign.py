"""`barnabas topics reassign` and `barnabas topics elect-leaders`: who holds replicas, who leads."""

import sys
from pathlib import Path

import click

from barnabas.server.cli.completion import complete_topics
from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, note, print_rows
from barnabas.server.cli.reassignment_plan import (
    changes,
    named,
    parse_brokers,
    parse_plan,
    spread,
)

PLAN_COLUMNS = ("topic", "partition", "replicas", "new_replicas", "adding", "removing")
topics_argument = click.argument(
    "names", nargs=-1, metavar="[TOPIC…]", shell_complete=complete_topics
)


@click.command()
@topics_argument
@click.option("--brokers", metavar="ID,…", help="Who is to hold the replicas; all that live.")
@click.option(
    "--replication-factor", type=click.IntRange(1), help="Replicas of each; as many as it has."
)
@click.option(
    "--file", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE",
    help="A plan of kafka-reassign-partitions instead.",
)  # fmt: skip
@click.option("--cancel", is_flag=True, help="End what is under way, of these topics or of all.")
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-wait", is_flag=True, help="Do not wait until it is done.")
@bootstrap_option
@client_option
@json_option
def reassign(
    names: tuple[str, ...], brokers: str | None, replication_factor: int | None,
    file: Path | None, cancel: bool, dry_run: bool, yes: bool, no_wait: bool,
    bootstrap: str, client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Move replicas to other brokers: shows the plan, asks on a terminal, waits until it is done.

    As few replicas as possible are moved so that the brokers hold, and lead, evenly many. Ctrl-C
    ends the waiting, not the moving.

    \b
    barnabas topics reassign orders payments --brokers 1,2,3
    barnabas topics reassign orders --replication-factor 3 --yes
    barnabas topics reassign --file plan.json
    barnabas topics reassign --cancel
    """
    if file is not None and (names or brokers or replication_factor):
        raise BadInput("--file says all of it; name no topics, brokers or factor beside it")
    if cancel and (brokers or replication_factor):
        raise BadInput("--cancel takes topics or a file, no brokers and no factor")
    if not names and file is None and not cancel:
        raise BadInput("say which topics, or --file FILE, or --cancel")
    wanted = parse_plan(file.read_text(errors="replace"), str(file)) if file else None
    chosen = parse_brokers(brokers) if brokers is not None else None
    with connected(bootstrap, client_settings) as cluster:
        if cancel:
            _cancel(cluster, names, wanted, dry_run, yes, as_json)
            return
        current = _replicas_of(cluster, names, wanted)
        if wanted is None:
            wanted = spread(current, _racks_of(cluster, chosen), replication_factor)
        plan = changes(current, wanted)
        print_rows(_plan_rows(current, plan), PLAN_COLUMNS, as_json=as_json)
        if not plan:
            note("nothing to do: the replicas are where they are to be")
        if not plan or dry_run:
            return
        _ask(f"Move the replicas of {_count(len(plan))}?", yes)
        _carry_out(cluster, plan, no_wait)


@click.command("elect-leaders")
@topics_argument
@click.option("--unclean", is_flag=True, help="Even who is not in sync: records may be lost.")
@click.option("--yes", is_flag=True, help="Do not ask before --unclean.")
@bootstrap_option
@client_option
@json_option
def elect_leaders(
    names: tuple[str, ...], unclean: bool, yes: bool,
    bootstrap: str, client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Let the preferred replica lead, the first of each partition; of all topics without names.

    With --unclean partitions that nobody leads get a leader that lives, though it may lack records
    that were acknowledged.

    \b
    barnabas topics elect-leaders
    barnabas topics elect-leaders orders --unclean
    """
    from barnabas.server.cli.reassignment_requests import PREFERRED, UNCLEAN, elect, refusals

    if unclean and not names:
        raise BadInput("--unclean may lose records: say which topics")
    with connected(bootstrap, client_settings) as cluster:
        places = None
        if names:
            places = sorted(_replicas_of(cluster, names, None))
        if unclean:
            _ask("Elect leaders that may lack acknowledged records?", yes)
        elected, refused = elect(cluster, places, UNCLEAN if unclean else PREFERRED)
        rows = _leader_rows(cluster, elected)
    print_rows(rows, ("topic", "partition", "leader", "replicas", "in_sync"), as_json=as_json)
    if not elected and not refused:
        note("no election was needed")
    if refused:
        raise refusals(refused)


def _carry_out(cluster: Cluster, plan: dict[Place, list[int]], no_wait: bool) -> None:
    from barnabas.server.cli.reassignment_progress import wait_until_moved
    from barnabas.server.cli.reassignment_requests import reassign as begin
    from barnabas.server.cli.reassignment_requests import refusals

    refused = begin(cluster, plan)
    begun = [place for place in plan if place not in refused]
    if begun and not no_wait:
        wait_until_moved(cluster, begun)
        note(f"{_count(len(begun))} moved")
    if refused:
        raise refusals(refused)


def _cancel(
    cluster: Cluster, names: tuple[str, ...], wanted: dict[Place, list[int]] | None,
    dry_run: bool, yes: bool, as_json: bool,
) -> None:  # fmt: skip
    from barnabas.server.cli.reassignment_requests import reassign as change
    from barnabas.server.cli.reassignment_requests import refusals, under_way

    for name in names:
        cluster.topic(name)
    moves = {
        place: move
        for place, move in under_way(cluster).items()
        if (not names or place[0] in names) and (wanted is None or place in wanted)
    }
    rows = [
        {
            "topic": place[0],
            "partition": place[1],
            "replicas": move.replicas,
            "adding": move.adding,
            "removing": move.removing,
        }
        for place, move in sorted(moves.items())
    ]
    print_rows(rows, ("topic", "partition", "replicas", "adding", "removing"), as_json=as_json)
    if not moves:
        note("nothing is being moved")
    if not moves or dry_run:
        return
    _ask(f"Take back the moves of {_count(len(moves))}?", yes)
    refused = change(cluster, dict.fromkeys(moves))
    if refused:
        raise refusals(refused)


def _replicas_of(
    cluster: Cluster, names: tuple[str, ...], wanted: dict[Place, list[int]] | None
) -> dict[Place, list[int]]:
    """What the partitions of these topics have now, or those of a plan. Failure, BadInput."""
    topics = dict.fromkeys(names or (topic for topic, _ in wanted or ()))
    found = {
        (name, partition["partition_index"]): list(partition["replica_nodes"])
        for name in topics
        for partition in cluster.topic(name)["partitions"]
    }
    for place in wanted or ():
        if place not in found:
            raise BadInput(f"there is no partition {named(place)}")
    return found


def _racks_of(cluster: Cluster, chosen: list[int] | None) -> dict[int, str | None]:
    """The racks of the chosen brokers, or of all that live. BadInput for one that does not."""
    live = {broker["node_id"]: broker["rack"] for broker in cluster.describe()["brokers"]}
    for broker in chosen or ():
        if broker not in live:
            ids = ", ".join(map(str, sorted(live)))
            raise BadInput(f"--brokers: broker {broker} is not there; there are {ids}")
    return {broker: live[broker] for broker in (chosen or sorted(live))}


def _plan_rows(current: dict[Place, list[int]], plan: dict[Place, list[int]]) -> list[Row]:
    return [
        {
            "topic": place[0],
            "partition": place[1],
            "replicas": current[place],
            "new_replicas": new,
            "adding": [each for each in new if each not in current[place]],
            "removing": [each for each in current[place] if each not in new],
        }
        for place, new in sorted(plan.items())
    ]


def _leader_rows(cluster: Cluster, places: list[Place]) -> list[Row]:
    topics = {name: cluster.topic(name) for name in dict(places)}
    return [
        {
            "topic": name,
            "partition": each["partition_index"],
            "leader": each["leader_id"] if each["leader_id"] >= 0 else None,
            "replicas": each["replica_nodes"],
            "in_sync": each["isr_nodes"],
        }
        for name, topic in sorted(topics.items())
        for each in sorted(topic["partitions"], key=lambda p: int(p["partition_index"]))
        if (name, each["partition_index"]) in places
    ]


def _ask(question: str, yes: bool) -> None:
    if not yes and sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)


def _count(number: int) -> str:
    return "1 partition" if number == 1 else f"{number:,} partitions"
