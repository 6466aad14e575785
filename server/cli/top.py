"""`barnabas top`: what happens in a cluster now: rates of topics, lag of groups, brokers.

A view that renews itself on a terminal; rows for a pipe. All but the connections is asked over
Kafka's protocol; those are read from a broker's /metrics, where --metrics names it.
"""

import os
import sys
import time
from typing import NamedTuple, Protocol

import click

from barnabas.server.cli.connection import connected, unreachable
from barnabas.server.cli.options import bootstrap_option, client_option, json_option
from barnabas.server.cli.output import note, print_json, print_rows
from barnabas.server.cli.signals import end_by_sigterm
from barnabas.server.cli.top_samples import Changes, Sampler

TOPIC_COLUMNS = ("topic", "partitions", "records_per_s", "bytes_per_s", "records", "bytes")
GROUP_COLUMNS = ("group", "state", "members", "read_per_s", "lag", "lag_per_s")
BROKER_COLUMNS = ("broker", "host", "leads", "bytes", "connections")
CANNOT_DRAW = ("dumb", "unknown")  # terminals on which rich draws nothing


class View(Protocol):
    """Where changes are shown."""

    def show(self, changes: Changes) -> None:
        """Show them."""

    def show_away(self) -> None:
        """Show that nobody answers."""

    def wait(self) -> bool:
        """Until the next look; False when there is to be none."""


@click.command()
@click.option("--interval", type=click.FloatRange(0.2), default=2.0, show_default=True,
              metavar="SECONDS", help="How often to look.")  # fmt: skip
@click.option("--count", type=click.IntRange(1), metavar="N",
              help="End after N looks; in a pipe after one.")  # fmt: skip
@click.option("--metrics", multiple=True, metavar="HOST:PORT",
              help="Where a broker serves /metrics, for its connections.")  # fmt: skip
@click.option("--internal", is_flag=True, help="The cluster's own topics too.")
@bootstrap_option
@client_option
@json_option
def top(
    interval: float, count: int | None, metrics: tuple[str, ...], internal: bool,
    bootstrap: str, client_settings: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Watch topics, groups and brokers: records and bytes per second, lag, connections.

    The busiest come first; q or Ctrl-C ends. Connections are of Barnabas, by --metrics.

    \b
    barnabas top
    barnabas top --metrics 127.0.0.1:8080
    barnabas top --count 1 --json
    """
    end_by_sigterm()
    for_people = sys.stdout.isatty() and sys.stdin.isatty() and not as_json
    with connected(bootstrap, client_settings) as cluster:
        sampler = Sampler(cluster, metrics, internal=internal)
        if for_people and os.environ.get("TERM") not in CANNOT_DRAW:
            from barnabas.server.cli.top_screen import Screen

            with Screen(bootstrap, interval) as screen:
                _watch(sampler, screen, count)
            return
        _watch(sampler, Printed(interval, as_json), count if for_people else count or 1)


def _watch(sampler: Sampler, view: View, count: int | None) -> None:
    """Show changes between looks until there were enough, or the view says that it is over.

    Brokers may go and come back meanwhile: it goes on, and fails only if nobody answers at the
    last look.
    """
    before = sampler.look()
    if count is None:
        view.show(Changes(before, before))
    while count != 0 and view.wait():
        count = None if count is None else count - 1
        try:
            now = sampler.look()
        except unreachable():
            if count == 0:
                raise
            view.show_away()
        else:
            view.show(Changes(before, now))
            before = now


class Printed(NamedTuple):
    """The standard output."""

    interval_s: float
    as_json: bool

    def show(self, changes: Changes) -> None:
        """Print them as rows."""
        (_print_json if self.as_json else _print_tables)(changes)

    def show_away(self) -> None:
        """Say it beside them."""
        note("no broker answers; trying again")

    def wait(self) -> bool:
        """Without an end of its own."""
        time.sleep(self.interval_s)
        return True


def _print_json(changes: Changes) -> None:
    for kind, rows in (("topic", changes.topics()), ("group", changes.groups()),
                       ("broker", changes.brokers())):  # fmt: skip
        for row in rows:
            print_json({"kind": kind, **row})
    sys.stdout.flush()


def _print_tables(changes: Changes) -> None:
    for columns, rows in ((TOPIC_COLUMNS, changes.topics()), (GROUP_COLUMNS, changes.groups()),
                          (BROKER_COLUMNS, changes.brokers())):  # fmt: skip
        if rows:
            print_rows(rows, columns, as_json=False)
            sys.stdout.write("\n")
    sys.stdout.flush()
