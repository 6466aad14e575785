"""Topics as arguments, or with -t and --topic, as kcat and the kafka-*.sh have them."""

from collections.abc import Callable
from typing import Any

import click

from barnabas.server.cli.completion import complete_topics
from barnabas.server.cli.failures import BadInput

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

topic_option: Decorator = click.option(
    "--topic", "-t", "also_topics", multiple=True, metavar="TOPIC",
    shell_complete=complete_topics, help="The same as TOPIC.",
)  # fmt: skip


names_argument: Decorator = click.argument(
    "names", nargs=-1, required=True, metavar="TOPIC…", shell_complete=complete_topics
)


def chosen_topics(arguments: tuple[str, ...], options: tuple[str, ...]) -> tuple[str, ...]:
    """All of them in their order; BadInput when there are none."""
    names = (*options, *arguments)
    if not names:
        raise BadInput("which TOPIC? say its name, such as orders")
    return tuple(dict.fromkeys(names))


def chosen_topic(argument: str | None, options: tuple[str, ...]) -> str:
    """The one; BadInput when there is none, or more than one."""
    names = chosen_topics((argument,) if argument else (), options)
    if len(names) > 1:
        raise BadInput(f"one TOPIC, not {', '.join(names)}")
    return names[0]
