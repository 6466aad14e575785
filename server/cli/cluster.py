"""`barnabas cluster`: the brokers of the cluster."""

from typing import Any

import click

from barnabas.server.cli.connection import (
    bootstrap_option,
    client_option,
    connected,
    json_option,
)
from barnabas.server.cli.output import Row, print_rows


@click.command()
@bootstrap_option
@client_option
@json_option
def cluster(bootstrap: str, client_settings: tuple[str, ...], as_json: bool) -> None:
    """Show the brokers of the cluster and which of them is the controller.

    \b
    barnabas cluster
    barnabas cluster --bootstrap kafka.example.org:9092 --json
    """
    with connected(bootstrap, client_settings) as connection:
        found = connection.describe()
    rows = [_row(found, broker) for broker in found["brokers"]]
    rows.sort(key=lambda row: int(row["broker"]))
    if not as_json:
        click.echo(f"cluster {found['cluster_id']}")
    columns = ("broker", "host", "port", "rack", "controller")
    print_rows(rows, columns, as_json=as_json)


def _row(found: dict[str, Any], broker: dict[str, Any]) -> Row:
    return {
        "cluster_id": found["cluster_id"],
        "broker": broker["node_id"],
        "host": broker["host"],
        "port": broker["port"],
        "rack": broker["rack"],
        "controller": broker["node_id"] == found["controller_id"],
    }
