"""How the groups of commands behave: lazily imported, and helpful about a mistyped word."""

from importlib import import_module

import click

from barnabas.server.cli.failures import did_you_mean

LONG = 300


class HelpfulGroup(click.Group):
    """A click group that suggests the command that was meant."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with its whole first sentence, which is wrapped where others cut it."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, each.get_short_help_str(LONG)) for name, each in found
                if each is not None and not each.hidden]  # fmt: skip
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            hint = did_you_mean(args[0], known) or f"; there are {', '.join(known)}"
            raise click.UsageError(f"there is no command {args[0]}{hint}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(HelpfulGroup):
    """A group whose commands live in modules of their own, imported when they are asked for.

    `commands_by_name`: name -> (module, attribute, one line for the list of commands).
    """

    commands_by_name: dict[str, tuple[str, str, str]]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_by_name:
            return None
        module, attribute, _ = self.commands_by_name[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, line) for name, (_, _, line) in self.commands_by_name.items()]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
