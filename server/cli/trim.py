"""`barnabas topics trim`: delete the oldest records of topics, after the plan was seen."""

import click

from barnabas.server.cli.config_requests import topic_setting
from barnabas.server.cli.connection import Cluster, connected, problem
from barnabas.server.cli.failures import Failure
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.offsets import EARLIEST, LATEST, Place, offsets_once_led, places_of
from barnabas.server.cli.options import Option, bootstrap_option, client_option, json_option
from barnabas.server.cli.output import Row, note, print_rows
from barnabas.server.cli.ranges import OTHER_WORDS, check_position, positions
from barnabas.server.cli.topic_patterns import named_topics
from barnabas.server.cli.topics_option import names_argument

NOT_ALLOWED = (
    "records are deleted only of topics whose cleanup.policy has delete,"
    " and of none of the cluster's own"
)
COLUMNS = ("topic", "partition", "start_offset", "new_start", "end_offset", "deletes", "done")


@click.command()
@names_argument
@click.option("--to", "-o", "target", cls=Option, also=("--offset",), required=True,
              metavar="POSITION",
              help="The first to keep: an offset, -N (the last N), a time, latest.")  # fmt: skip
@click.option("--partition", "-p", "partitions", type=click.IntRange(0), multiple=True,
              help="Only this one; may be given more than once.")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do it; without this only the plan is shown.")
@bootstrap_option
@client_option
@json_option
def trim(
    names: tuple[str, ...], target: str, partitions: tuple[int, ...], yes: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Delete the records before a position for good: shows the plan, does it with --yes.

    \b
    barnabas topics trim orders --to 2026-03-01
    barnabas topics trim orders --partition 0 --to 1500 --yes
    barnabas topics trim 'orders-*' --to -1000 --yes     # each partition keeps its last 1000
    """
    target = OTHER_WORDS.get(target, target)
    check_position(target, "--to")
    with connected(bootstrap, client_settings) as cluster:
        places = [
            place
            for name in named_topics(cluster, names)
            for place in places_of(cluster, name, partitions, "--partition")
        ]
        plan = _plan(cluster, places, target)
        refused = _without_delete(cluster, sorted({name for name, _ in places}))
        if yes and refused:
            raise Failure(f"{_in_words(refused)}; nothing was deleted")
        if yes:
            refused = _delete(cluster, plan)
    print_rows(plan, COLUMNS, as_json=as_json)
    if refused:
        raise Failure(_in_words(refused))
    if not yes and any(row["deletes"] for row in plan):
        note("nothing is deleted yet; --yes does it, for good")


def _plan(cluster: Cluster, places: list[Place], target: str) -> list[Row]:
    starts = offsets_once_led(cluster, places, EARLIEST)
    ends = offsets_once_led(cluster, places, LATEST)
    after = positions(cluster, places, target)
    return [
        {
            "topic": place[0],
            "partition": place[1],
            "start_offset": starts[place],
            "new_start": after[place],
            "end_offset": ends[place],
            "deletes": after[place] - starts[place],
            "done": False,
        }
        for place in places
    ]


def _without_delete(cluster: Cluster, names: list[str]) -> dict[str, str]:
    """Why some topics will be refused, by their settings, as far as one may see those."""
    policies = topic_setting(cluster, names, "cleanup.policy")
    return {
        name: NOT_ALLOWED
        for name in names
        if "delete" not in policies.get(name, "delete").split(",")
    }


def _delete(cluster: Cluster, plan: list[Row]) -> dict[str, str]:
    """Delete, and mark the rows of what is done; the topics that are refused, and why.

    All are asked for at once. Where some are refused kafka-python tells neither which, nor what
    was done: each is asked for once more then, which does nothing where it was done.
    """
    wanted = [row for row in plan if row["deletes"]]
    try:
        _send(cluster, wanted)
    except kafka("errors").BrokerResponseError:
        return {row["topic"]: why for row in wanted if (why := _refusal(cluster, row))}
    return {}


def _refusal(cluster: Cluster, row: Row) -> str:
    """Why the records of a row are not deleted; "" once they are."""
    errors = kafka("errors")
    try:
        _send(cluster, [row])
    except (errors.PolicyViolationError, errors.InvalidTopicError):
        return NOT_ALLOWED
    except errors.BrokerResponseError as error:
        return problem(error.errno)
    return ""


def _send(cluster: Cluster, rows: list[Row]) -> None:
    partition = kafka().TopicPartition
    wanted = {partition(row["topic"], row["partition"]): row["new_start"] for row in rows}
    if wanted:
        cluster.admin.delete_records(wanted)
    for row in rows:
        row["done"] = True


def _in_words(refused: dict[str, str]) -> str:
    return "; ".join(
        f"{', '.join(name for name in refused if refused[name] == why)}: {why}"
        for why in dict.fromkeys(refused.values())
    )
