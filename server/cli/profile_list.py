"""`barnabas profiles`: the clusters that have names, and the one that is meant without any."""

import click

from barnabas.server.cli.options import json_option
from barnabas.server.cli.output import note, print_rows
from barnabas.server.cli.profiles import read_profiles


@click.command()
@json_option
def profiles(as_json: bool) -> None:
    """List the clusters of the file of profiles.

    Commands take one with --profile NAME, or from BARNABAS_PROFILE; --bootstrap is stronger, and
    BARNABAS_BOOTSTRAP stronger than the file's default. The file is the one that
    BARNABAS_PROFILES names, or ~/.config/barnabas/profiles.toml:

    \b
    barnabas profiles
    barnabas topics list --profile staging

    \b
    default = "local"
    [local]
    bootstrap = "127.0.0.1:9092"
    [staging]
    bootstrap = "kafka-1.example.org:9093"
    client = { "security.protocol" = "SASL_SSL", "sasl.username" = "ann" }
    """
    found = read_profiles()
    rows = [
        {"profile": name, "bootstrap": each.bootstrap, "default": name == found.default}
        for name, each in sorted(found.by_name.items())
    ]
    print_rows(rows, ("profile", "bootstrap", "default"), as_json=as_json)
    if not rows and not as_json:
        note(f"no profiles; {found.path} would have them")
