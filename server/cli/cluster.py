"""`barnabas cluster`: brokers together: how they are, and several of them on this machine."""

from typing import Any

import click

from barnabas.server.cli.cluster_start import start
from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.failures import Failure
from barnabas.server.cli.groups_of_commands import HelpfulGroup
from barnabas.server.cli.health import health
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, counted, print_rows
from barnabas.server.cli.waiting import once_well

BROKER_COLUMNS = ("broker", "host", "port", "rack", "controller")
LOADED_COLUMNS = ("broker", "host", "port", "rack", "leads", "holds", "behind")
PARTITION_COLUMNS = ("topic", "partition", "leader", "replicas", "in_sync", "trouble")
WELL = "every partition has a leader, and all of its replicas in sync"


class ClusterGroup(HelpfulGroup):
    """A bare `barnabas cluster` lists the brokers, as it did before there were other commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["brokers", *args]
        return super().parse_args(ctx, args)


@click.group(cls=ClusterGroup)
def cluster() -> None:
    """Run several brokers on this machine; show how the brokers of a cluster are.

    \b
    barnabas cluster                               # the same as: barnabas cluster brokers
    barnabas cluster describe
    """


cluster.add_command(start)
cluster.add_command(health)


@cluster.command()
@bootstrap_option
@client_option
@json_option
def brokers(bootstrap: str, client_settings: tuple[str, ...], as_json: bool) -> None:
    """List the brokers of the cluster, and which of them is the controller.

    \b
    barnabas cluster brokers
    barnabas cluster --bootstrap kafka.example.org:9092 --json
    """
    with connected(bootstrap, client_settings) as connection:
        found = connection.describe()
    if not as_json:
        click.echo(f"cluster {found['cluster_id']}")
    print_rows(_broker_rows(found), BROKER_COLUMNS, as_json=as_json)


@cluster.command()
@click.option("--check", is_flag=True, help="Fail unless every partition is well.")
@click.option(
    "--wait", type=click.FloatRange(0), metavar="SECONDS",
    help="Check, but wait up to so long for it.",
)  # fmt: skip
@bootstrap_option
@client_option
@json_option
def describe(
    check: bool, wait: float | None, bootstrap: str, client_settings: tuple[str, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """Show the brokers, what each leads and holds, and the partitions that are not well.

    A partition is not well if nobody leads it (offline), if fewer replicas are in sync than it has
    (under-replicated), or fewer than min.insync.replicas, so that acks=all is refused (under min
    ISR). With --json the summary comes first, then brokers, then those partitions; `kind` says
    which is which.

    \b
    barnabas cluster describe
    barnabas cluster describe --check >/dev/null || echo look after it
    barnabas cluster describe --wait 300           # before the next broker is restarted
    """
    found, partitions = once_well(
        bootstrap, client_settings, wait or 0,
        lambda connection: (connection.describe(), partitions_of(connection)),
        lambda both: not any(row["trouble"] for row in both[1]),
    )  # fmt: skip
    summary = _summary(found, partitions)
    rows = _loaded(_broker_rows(found), partitions)
    ailing = [row for row in partitions if row["trouble"]]
    if as_json:
        for kind, each in (("cluster", [summary]), ("broker", rows), ("partition", ailing)):
            print_rows(({"kind": kind, **row} for row in each), (), as_json=True)
    else:
        _print(summary, rows, ailing)
    if (check or wait is not None) and ailing:
        raise Failure(_in_words(summary))


def _broker_rows(found: dict[str, Any]) -> list[Row]:
    rows = [
        {
            "cluster_id": found["cluster_id"],
            "broker": broker["node_id"],
            "host": broker["host"],
            "port": broker["port"],
            "rack": broker["rack"],
            "controller": broker["node_id"] == found["controller_id"],
        }
        for broker in found["brokers"]
    ]
    return sorted(rows, key=lambda row: int(row["broker"]))


def partitions_of(connection: Cluster) -> list[Row]:
    """Every partition of the cluster, and what is wrong with it."""
    from barnabas.server.cli.config_requests import least_in_sync

    topics = dict(sorted(connection.topics().items()))
    least = least_in_sync(connection, list(topics))
    return [
        _partition(name, each, least.get(name, 1))
        for name, topic in topics.items()
        for each in sorted(topic["partitions"], key=lambda p: int(p["partition_index"]))
    ]


def _partition(name: str, found: dict[str, Any], least: int) -> Row:
    is_led = found["leader_id"] >= 0
    in_sync = len(found["isr_nodes"])
    trouble = {
        "offline": not is_led,
        "under-replicated": in_sync < len(found["replica_nodes"]),
        "under min ISR": not is_led or in_sync < min(least, len(found["replica_nodes"])),
    }
    return {
        "topic": name,
        "partition": found["partition_index"],
        "leader": found["leader_id"] if is_led else None,
        "replicas": found["replica_nodes"],
        "in_sync": found["isr_nodes"],
        "trouble": [what for what, is_so in trouble.items() if is_so],
    }


def _loaded(rows: list[Row], partitions: list[Row]) -> list[Row]:
    """The brokers, with what each leads and holds; those that are away hold things, too."""
    live = {row["broker"] for row in rows}
    away = {each for row in partitions for each in row["replicas"]} - live
    rows = rows + [{**dict.fromkeys(rows[0]), "broker": each} for each in away if rows]
    rows.sort(key=lambda row: int(row["broker"]))
    return [
        {
            **row,
            "is_live": row["broker"] in live,
            "leads": sum(each["leader"] == row["broker"] for each in partitions),
            "holds": sum(row["broker"] in each["replicas"] for each in partitions),
            "behind": sum(
                row["broker"] in each["replicas"] and row["broker"] not in each["in_sync"]
                for each in partitions
            ),
        }
        for row in rows
    ]


def _summary(found: dict[str, Any], partitions: list[Row]) -> Row:
    def count(what: str) -> int:
        return sum(what in row["trouble"] for row in partitions)

    return {
        "cluster_id": found["cluster_id"],
        "controller": found["controller_id"] if found["controller_id"] >= 0 else None,
        "brokers": len(found["brokers"]),
        "topics": len({row["topic"] for row in partitions}),
        "partitions": len(partitions),
        "offline": count("offline"),
        "under_replicated": count("under-replicated"),
        "under_min_isr": count("under min ISR"),
    }


def _print(summary: Row, rows: list[Row], ailing: list[Row]) -> None:
    controller = "none" if summary["controller"] is None else summary["controller"]
    click.echo(f"cluster {summary['cluster_id']}, controller {controller}")
    print_rows(rows, LOADED_COLUMNS, as_json=False)
    topics, partitions = (counted(summary[f"{noun}s"], noun) for noun in ("topic", "partition"))
    click.echo(f"{topics}, {partitions}: ", nl=False)
    click.echo(_in_words(summary) if ailing else WELL)
    shown = [{**row, "trouble": ", ".join(row["trouble"])} for row in ailing]
    print_rows(shown, PARTITION_COLUMNS, as_json=False)


def _in_words(summary: Row) -> str:
    return (
        f"{summary['offline']} offline, {summary['under_replicated']} under-replicated,"
        f" {summary['under_min_isr']} under min ISR"
    )
