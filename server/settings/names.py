"""Which setting a name means, and a helpful refusal when it means none."""

from barnabas.server.settings.table import Setting, settings

_LISTENER = "listener.name."
_SECRETS = ("password", "passwd", "secret", "jaas", "key")
_FREE_PREFIXES = ("config.providers.", "rsm.config.", "rlmm.config.", "metrics.context.")
_MISTYPED = 0.8  # what is less like a setting than this was not meant to be one


class ConfigError(ValueError):
    """A setting that cannot be used, in one sentence for whoever wrote it."""


def base_name(name: str) -> str:
    """The setting that a name for one listener (and SASL mechanism) is about; else the name.

    `listener.name.internal.ssl.keystore.location` is about `ssl.keystore.location`, and
    `listener.name.internal.scram-sha-256.sasl.jaas.config` about `sasl.jaas.config`.
    """
    rest = name[len(_listener_prefix(name)) :]
    known = settings()
    if rest != name and rest not in known and (after := rest.partition(".")[2]) in known:
        return after
    return rest


def find_setting(name: str, text: str, release: int, prefix: str) -> Setting | None:
    """The setting behind `name`; None where a plugin's own names are allowed.

    Raises ConfigError, beginning with `prefix`, for a name that nobody knows.
    """
    setting = settings(release).get(base_name(name))
    if setting is not None:
        return setting
    if is_free(name):
        return None
    shown = "[hidden]" if any(word in name.lower() for word in _SECRETS) else text
    raise ConfigError(f"{prefix}{name}={shown}: there is no setting {name}{_suggestion(name)}")


def is_free(name: str) -> bool:
    """Whether a plugin may have a setting of that name."""
    return name.startswith(_FREE_PREFIXES)


def is_typing_error(name: str) -> bool:
    """Whether a name that nobody knows is nearly that of a setting."""
    return bool(_nearest(name, _MISTYPED))


def _listener_prefix(name: str) -> str:
    """`listener.name.internal.` of a name for that listener, else nothing."""
    listener = name[len(_LISTENER) :].partition(".")[0] if name.startswith(_LISTENER) else ""
    return f"{_LISTENER}{listener}." if listener else ""


def _suggestion(name: str) -> str:
    close = _nearest(name, 0.6)
    stem = _listener_prefix(name)
    return f"; did you mean {stem}{close[0]}?" if close else "; docs/settings.md lists them all"


def _nearest(name: str, cutoff: float) -> list[str]:
    """The setting that a name is most like, if it is like one."""
    from difflib import get_close_matches  # 5 ms that only a mistake should cost

    return get_close_matches(name[len(_listener_prefix(name)) :], settings(), n=1, cutoff=cutoff)
