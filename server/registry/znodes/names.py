"""Which paths ZooKeeper allows (its PathUtils)."""

from barnabas.server.registry.znodes.store import BadArguments

ROOT = "/"


def require_valid(path: str) -> None:
    """Raise BadArguments for a path that ZooKeeper does not allow."""
    if path == ROOT:
        return
    before, *names = path.split("/")
    if before or not names:
        raise BadArguments(path)
    for name in names:
        require_valid_name(path, name)


def require_valid_name(path: str, name: str) -> None:
    """Raise BadArguments for a `name` that ZooKeeper does not allow in a path."""
    if name in ("", ".", ".."):
        raise BadArguments(path)
    if not (name.isascii() and name.isprintable()) and any(map(_is_forbidden, name)):
        raise BadArguments(path)


def _is_forbidden(character: str) -> bool:
    """Control characters, surrogates, private use, and the specials at the end of the plane."""
    return (
        character <= "\x1f"
        or "\x7f" <= character <= "\x9f"
        or "\ud800" <= character <= "\uf8ff"
        or "\ufff0" <= character <= "\uffff"
    )
