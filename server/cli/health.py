"""`barnabas cluster health`: is everything well, by an exit code, and what is not."""

from typing import Any

import click

from barnabas.server.cli.connection import Cluster
from barnabas.server.cli.failures import Failure
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, counted, print_rows
from barnabas.server.cli.waiting import once_well

NAMED_MOST = 5
COLUMNS = ("check", "well", "detail")


@click.command()
@click.option("--wait", type=click.FloatRange(0), default=0, metavar="SECONDS",
              help="Wait up to so long for it.")  # fmt: skip
@bootstrap_option
@client_option
@json_option
def health(wait: float, bootstrap: str, client_settings: tuple[str, ...], as_json: bool) -> None:
    """Say whether the cluster is well: exits with 0 if it is, with 1 if not.

    Looks for a controller, whether every broker answers, data directories that failed, and
    partitions without a leader, with replicas out of sync, or with fewer in sync than
    min.insync.replicas.

    \b
    barnabas cluster health
    barnabas cluster health --wait 60 && deploy
    """
    checks = once_well(
        bootstrap, client_settings, wait, checks_of,
        lambda found: all(check["well"] for check in found),
    )  # fmt: skip
    print_rows(checks, COLUMNS, as_json=as_json)
    if ailing := [check["check"] for check in checks if not check["well"]]:
        raise Failure(f"the cluster is not well: {', '.join(ailing)}")


def checks_of(cluster: Cluster) -> list[Row]:
    """What was looked at, and whether it is well."""
    from barnabas.server.cli.cluster import partitions_of
    from barnabas.server.cli.sizes import directories_of

    found = cluster.describe()
    brokers = {broker["node_id"] for broker in found["brokers"]}
    answers = directories_of(cluster, brokers, [])
    partitions = partitions_of(cluster)
    members = brokers | {each for row in partitions for each in row["replicas"]}
    silent = sorted(members - answers.keys())
    controller = found["controller_id"]
    return [
        _check("controller", controller in brokers, f"broker {controller}", "none"),
        _check("brokers", not silent, f"all of {counted(len(members), 'broker')} answered",
               f"no answer from {', '.join(map(str, silent))}"),
        _directories(answers),
        *(_of_partitions(partitions, what) for what in
          ("offline", "under-replicated", "under min ISR")),
    ]  # fmt: skip


def _check(name: str, is_well: bool, well: str, ill: str) -> Row:
    return {"check": name, "well": is_well, "detail": well if is_well else ill}


def _directories(answers: dict[int, list[dict[str, Any]]]) -> Row:
    failed = [f"{each['log_dir']} of broker {broker}" for broker, found in answers.items()
              for each in found if each["error_code"]]  # fmt: skip
    count = sum(len(found) for found in answers.values())
    return _check("data directories", not failed, f"{count} in use", f"failed: {', '.join(failed)}")


def _of_partitions(partitions: list[Row], what: str) -> Row:
    ailing = [f"{row['topic']}:{row['partition']}" for row in partitions if what in row["trouble"]]
    more = f" and {len(ailing) - NAMED_MOST} more" if len(ailing) > NAMED_MOST else ""
    named = f"{counted(len(ailing), 'partition')}: {', '.join(ailing[:NAMED_MOST])}{more}"
    return _check(what, not ailing, f"none of {counted(len(partitions), 'partition')}", named)
