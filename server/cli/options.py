"""Options that many commands have, and NAME=VALUE pairs."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

import click
from click.core import ParameterSource

from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.profiles import Profile, read_profiles

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
PROFILE = "barnabas.profile"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Option(click.Option):
    """An option that can be typed in other tools' words, too (`also`), which help leaves out."""

    def __init__(self, *arguments: Any, also: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.opts, self.shown = [*self.opts, *also], self.opts

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        every, self.opts = self.opts, self.shown
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = every


def _take_profile(ctx: click.Context, _: click.Parameter, name: str | None) -> None:
    """Keep the profile for the options that have something from it; completion says no errors."""
    with suppress(BadInput) if ctx.resilient_parsing else nullcontext():
        profiles = read_profiles()
        if name or profiles.default:
            ctx.meta[PROFILE] = profiles.named(name or profiles.default)


def _profile(ctx: click.Context, option: str) -> Profile | None:
    """The profile, where it says more than the command line or the environment."""
    profile: Profile | None = ctx.meta.get(PROFILE)
    if ctx.get_parameter_source("profile") is ParameterSource.COMMANDLINE:
        weaker: tuple[ParameterSource, ...] = (ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT)
        return profile if ctx.get_parameter_source(option) in weaker else None
    return profile if ctx.get_parameter_source(option) is ParameterSource.DEFAULT else None


def _take_bootstrap(ctx: click.Context, _: click.Parameter, value: str) -> str:
    profile = _profile(ctx, "bootstrap")
    return profile.bootstrap if profile else value


def _take_client_settings(
    ctx: click.Context, _: click.Parameter, pairs: tuple[str, ...]
) -> tuple[str, ...]:
    """The profile's where its cluster is the one that is meant, and over them those typed."""
    is_typed = ctx.get_parameter_source("profile") is ParameterSource.COMMANDLINE
    profile = ctx.meta.get(PROFILE) if is_typed else _profile(ctx, "bootstrap")
    return (*profile.client_settings, *pairs) if profile else pairs


def bootstrap_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """--bootstrap, and --profile, which says it by a name."""
    profile = click.option(
        "--profile", envvar="BARNABAS_PROFILE", expose_value=False, is_eager=True,
        callback=_take_profile, metavar="NAME", help="A cluster of the file of profiles.",
    )  # fmt: skip
    bootstrap = click.option(
        "--bootstrap", "-b", "bootstrap", cls=Option,
        also=("--bootstrap-server",), envvar="BARNABAS_BOOTSTRAP",
        default=DEFAULT_BOOTSTRAP, show_default=True, show_envvar=True, is_eager=True,
        callback=_take_bootstrap, metavar="HOST:PORT[,…]",
        help="A broker of the cluster, or several.",
    )  # fmt: skip
    return profile(bootstrap(function))


client_option: Decorator = click.option(
    "--client", "-X", "client_settings", multiple=True, metavar="NAME=VALUE",
    callback=_take_client_settings,
    help="A setting of the client, such as security.protocol=SASL_SSL.",
)  # fmt: skip
json_option: Decorator = click.option(
    "--json", "-J", "as_json", is_flag=True, help="One JSON object per line, with stable keys."
)


def named_values(pairs: tuple[str, ...], where: str) -> dict[str, str]:
    """NAME=VALUE pairs as a dictionary; BadInput names the one that is none."""
    return dict(named_pairs(pairs, where))


def named_pairs(pairs: tuple[str, ...], where: str) -> list[tuple[str, str]]:
    """The same for names that may repeat."""
    named = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{where}: {pair!r} is not NAME=VALUE, as in retention.ms=3600000")
        named.append((name.strip(), value))
    return named
