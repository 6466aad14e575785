"""`barnabas pipeline`: the Spark jobs, each imported when it is asked for.

The command line of the broker names this module as text and never imports it, so that a broker
without PySpark is complete. The modules of the commands import PySpark when they run, not when
they are imported: help and completion are there without it.
"""

from importlib.util import find_spec

import click

from barnabas.server.cli.failures import Failure
from barnabas.server.cli.groups_of_commands import LazyGroup

# name -> (module, attribute, one line for the list of commands)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("barnabas.pipeline.demo.command", "demo", "See it all, with nothing to set up."),
    "land": ("barnabas.pipeline.land.command", "land", "Land topics in a lake, every record once."),
    "audit": ("barnabas.pipeline.audit.command", "audit", "Hold a lake against the broker."),
    "lineage": (
        "barnabas.pipeline.audit.command",
        "lineage",
        "Find where a row of a lake comes from.",
    ),
    "aggregate": (
        "barnabas.pipeline.aggregate.command",
        "aggregate",
        "Count a website's activity in windows and sessions.",
    ),
    "generate": (
        "barnabas.pipeline.generate.command",
        "generate",
        "Write a website's activity to a topic.",
    ),
    "replay": ("barnabas.pipeline.replay.command", "replay", "Records of a lake back into topics."),
}
NEEDED = ("pyspark", "pyarrow", "confluent_kafka")


class Pipeline(LazyGroup):
    """The jobs."""

    commands_by_name = COMMANDS

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if any(find_spec(name) is None for name in NEEDED):
            raise Failure("the pipeline runs on Spark: pip install 'barnabas[pipeline]'")
        return super().resolve_command(ctx, args)


@click.group(cls=Pipeline)
def pipeline() -> None:
    """Land topics in a lake with Spark, audit that nothing was lost or doubled, and replay."""
