"""Shell completion: the script for a shell, and names that only the cluster knows.

A completion never fails or keeps the shell waiting: without a broker there are no suggestions.
"""

from collections.abc import Callable
from typing import Any

import click

from barnabas.server.cli.connection import DEFAULT_BOOTSTRAP, Cluster, connected


def complete_topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of topics that begin so."""
    return _complete(context, incomplete, lambda cluster: list(cluster.topics()))


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
    try:
        with connected(bootstrap) as cluster:
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

    from barnabas.server.cli.main import main

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(main, {}, "barnabas", "_BARNABAS_COMPLETE").source())
