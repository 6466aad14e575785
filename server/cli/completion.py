"""Shell completion: the script for a shell, and names that only the cluster knows.

A completion never fails or keeps the shell waiting: without a broker there are no suggestions.
"""

from collections.abc import Callable
from typing import Any

import click

from barnabas.server.cli.client_settings import CONSUMER, PRODUCER
from barnabas.server.cli.connection import Cluster, connected
from barnabas.server.cli.options import DEFAULT_BOOTSTRAP

OWN = "__"


def complete_topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of topics that begin so; the cluster's own only once they are begun."""
    found = _complete(context, incomplete, lambda cluster: list(cluster.topics()))
    return found if incomplete.startswith(OWN) else [n for n in found if not n.startswith(OWN)]


def complete_topic_settings(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """NAME= of a topic's settings that begin so; behind the = the values, where there are few."""
    from barnabas.server.cli.setting_words import topic_settings

    return _words(topic_settings(), incomplete)


def complete_settings(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The same for the kind that `barnabas configs set` was told."""
    from barnabas.server.cli.setting_words import broker_settings, topic_settings

    of_brokers = str(context.params.get("kind", "")).startswith("broker")
    return _words(broker_settings() if of_brokers else topic_settings(), incomplete)


def complete_setting_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """The names alone, for `barnabas configs get` and `unset`."""
    return [word.rstrip("=") for word in complete_settings(context, parameter, incomplete)]


def _words(values: dict[str, tuple[str, ...]], incomplete: str) -> list[str]:
    name, equals, begun = incomplete.partition("=")
    if equals:
        return [f"{name}={each}" for each in values.get(name, ()) if each.startswith(begun)]
    return [f"{each}=" for each in sorted(values) if each.startswith(incomplete)]


def complete_groups(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of groups that begin so."""
    return _complete(
        context,
        incomplete,
        lambda cluster: [group["group_id"] for group in cluster.admin.list_groups()],
    )


def complete_transactional_ids(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[str]:
    """Transactional ids that begin so."""
    from barnabas.server.cli.transaction_requests import Filters, listed

    return _complete(context, incomplete, lambda cluster: list(listed(cluster, Filters())))


def _complete(
    context: click.Context, incomplete: str, names: Callable[[Cluster], list[Any]]
) -> list[str]:
    bootstrap = context.params.get("bootstrap") or DEFAULT_BOOTSTRAP
    pairs = context.params.get("client_settings") or ()
    try:
        with connected(bootstrap, pairs, beside=(PRODUCER, CONSUMER)) as cluster:
            return sorted(name for name in names(cluster) if name.startswith(incomplete))
    except click.ClickException:
        return []


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands, options, topics, groups and transactional ids.

    \b
    eval "$(barnabas completion bash)"                                # in ~/.bashrc
    eval "$(barnabas completion zsh)"                                 # in ~/.zshrc
    barnabas completion fish >~/.config/fish/completions/barnabas.fish
    """
    from click.shell_completion import get_completion_class

    from barnabas.server.cli.bash_words import know_bash
    from barnabas.server.cli.main import main

    know_bash()
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "barnabas", "_BARNABAS_COMPLETE").source())
