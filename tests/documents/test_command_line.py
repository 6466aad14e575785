"""docs/command-line.md is what the commands say of themselves."""

from pathlib import Path

import click
from documents.command_line import render

from barnabas.server.cli.main import COMMANDS, main

DOCUMENT = Path(__file__).parents[2] / "docs" / "command-line.md"


def test_the_document_is_fresh() -> None:
    assert DOCUMENT.read_text() == render(), "run scripts/docs"


def test_every_command_has_an_example() -> None:
    context = click.Context(main, info_name="barnabas")
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        commands = command.commands.values() if isinstance(command, click.Group) else [command]
        for inner in commands:
            if name != "log":
                assert f"barnabas {name}" in (inner.help or ""), inner.name
