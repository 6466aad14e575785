"""The `barnabas` command: one click group, its commands imported when they are asked for.

`barnabas start` must be listening within a quarter of a second, so no command pays for
another one's imports. Every command ends in one of these ways: 0, done (or the reader of the
standard output has seen enough); 1, it could not be done; 2, what was typed is wrong; 130,
Ctrl-C. Whatever went wrong is one sentence on the standard error.
"""

import os
import sys
from pathlib import Path
from typing import Any

import click

from barnabas.server.cli.failures import INTERRUPTED, sentence_of
from barnabas.server.cli.groups_of_commands import LazyGroup

# name -> (module, attribute, one line for the list of commands)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "start": ("barnabas.server.cli.start", "start", "Run a broker."),
    "topics": ("barnabas.server.cli.topics", "topics", "List, create, alter, delete topics."),
    "produce": ("barnabas.server.cli.produce", "produce", "Send lines, CSV or JSON lines."),
    "consume": ("barnabas.server.cli.consume", "consume", "Print the records of a topic."),
    "groups": ("barnabas.server.cli.groups", "groups", "Look at groups, move their offsets."),
    "transactions": (
        "barnabas.server.cli.transactions",
        "transactions",
        "Look at transactions, end what hangs.",
    ),
    "configs": ("barnabas.server.cli.configs", "configs", "Get and set settings."),
    "cluster": ("barnabas.server.cli.cluster", "cluster", "Show the brokers."),
    "log": ("barnabas.server.cli.log", "log", "Look into, check and mend log files."),
    "completion": ("barnabas.server.cli.completion", "completion", "Complete in a shell."),
}


class Barnabas(LazyGroup):
    """The whole command: how it fails, and how it is interrupted."""

    commands_by_name = COMMANDS

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run; end the process with the exit code that tells what happened."""
        options["standalone_mode"] = False
        options["prog_name"] = options.get("prog_name") or "barnabas"
        try:
            code = super().main(*arguments, **options)
        except click.ClickException as error:
            print(sentence_of(error), file=sys.stderr)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command: Ctrl-C is quiet, and a reader that has gone is no error."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            # Python flushes once more on its way out; let that go nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        return result


def _how_it_runs() -> str:
    from barnabas.wire import varint

    module = Path(str(varint.__file__))
    if module.suffix != ".py":
        return "compiled"
    why = module.parents[1] / "uncompiled.txt"  # left by setup.py
    return f"interpreted ({why.read_text().strip()})" if why.exists() else "interpreted"


def _say_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """The release, and whether its hot modules are compiled (setup.py): a matter of speed."""
    if is_asked:
        from importlib.metadata import version

        click.echo(f"barnabas {version('barnabas')}, {_how_it_runs()}")
        ctx.exit()


@click.command(cls=Barnabas)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_say_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Barnabas: a message broker that speaks the Apache Kafka wire protocol.

    \b
    barnabas start                                 # a broker on 127.0.0.1:9092
    barnabas topics create orders --partitions 3
    echo hello | barnabas produce orders
    barnabas consume orders
    """
