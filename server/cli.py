"""The `barnabas` command: one click group, its commands imported when they are asked for.

`barnabas start` must be listening within a quarter of a second, so no command pays for
another one's imports.
"""

from importlib import import_module

import click

# name -> (module, attribute, one line for the list of commands)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "start": ("barnabas.server.commands.start", "start", "Run a broker."),
    "log": ("barnabas.server.commands.log", "log", "Look into, check and mend log files."),
}


class LazyGroup(click.Group):
    """A click group whose commands live in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, line) for name, (_, _, line) in COMMANDS.items()]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


@click.command(cls=LazyGroup)
@click.version_option(package_name="barnabas")
def main() -> None:
    """Barnabas: a message broker that speaks the Apache Kafka wire protocol."""
