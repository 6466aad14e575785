"""Profiles: clusters by name, in a file, so that nobody types addresses and passwords.

    default = "local"               # the one without --profile and --bootstrap

    [local]
    bootstrap = "127.0.0.1:9092"

    [staging]
    bootstrap = "kafka-1.example.org:9093"
    client = { "security.protocol" = "SASL_SSL", "sasl.username" = "ann" }

The file is what BARNABAS_PROFILES names, or barnabas/profiles.toml in the folder for settings
(XDG_CONFIG_HOME, ~/.config).
"""

import os
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.server.cli.failures import BadInput, did_you_mean, reason_of

DEFAULT = "default"


class Profile(NamedTuple):
    """A cluster that has a name."""

    name: str
    bootstrap: str
    client_settings: tuple[str, ...]


class Profiles(NamedTuple):
    """What the file says; `default` is "" without one."""

    path: Path
    by_name: dict[str, Profile]
    default: str

    def named(self, name: str, named_by: str = "--profile") -> Profile:
        """One of them, or BadInput, which says what has named it."""
        if name not in self.by_name:
            known = sorted(self.by_name)
            hint = did_you_mean(name, known) or f"; it has {', '.join(known) or 'none'}"
            raise BadInput(f"{named_by}: {self.path} has no profile {name}{hint}")
        return self.by_name[name]


def profiles_path() -> Path:
    """Where the file is, or would be."""
    if named := os.environ.get("BARNABAS_PROFILES"):
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path("~/.config").expanduser()) / "barnabas" / "profiles.toml"


def read_profiles() -> Profiles:
    """The profiles of the file; none without a file. BadInput for what is no such file."""
    path = profiles_path()
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Profiles(path, {}, "")
    except (OSError, UnicodeDecodeError) as error:
        why = reason_of(error) if isinstance(error, OSError) else "not UTF-8"
        raise BadInput(f"{path}: {why}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}") from error
    default = found.pop(DEFAULT, "")
    profiles = Profiles(path, {n: _profile(path, n, of) for n, of in found.items()}, str(default))
    if profiles.default:
        profiles.named(profiles.default, "default")
    return profiles


def _profile(path: Path, name: str, of: Any) -> Profile:
    client = of.get("client", {}) if isinstance(of, dict) else None
    if not isinstance(client, dict) or not isinstance(of.get("bootstrap"), str):
        raise BadInput(
            f'{path}: [{name}] needs bootstrap = "HOST:PORT", and may have client = {{…}}'
        )
    if unknown := sorted(of.keys() - {"bootstrap", "client"}):
        raise BadInput(f"{path}: [{name}] has bootstrap and client, not {unknown[0]}")
    return Profile(name, of["bootstrap"], tuple(f"{k}={_text(v)}" for k, v in client.items()))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
