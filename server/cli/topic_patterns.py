"""Topics by name or pattern: orders, 'orders-*', '/orders-[0-9]+/'.

No topic's name has a '*', '?', '[' or '/', so that a pattern is never taken for a name. The
cluster's own topics are meant only by patterns that begin with "__".
"""

import re
from fnmatch import translate

from barnabas.server.cli.connection import Cluster
from barnabas.server.cli.failures import BadInput, Failure

OWN = "__"


def is_pattern(name: str) -> bool:
    """Whether it is a pattern, and so may stand for several topics or none."""
    return any(each in name for each in "*?[/")


def compiled(pattern: str, where: str = "TOPIC") -> re.Pattern[str]:
    """The expression of a pattern; BadInput where it is none."""
    is_regex = len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/")
    try:
        return re.compile(pattern[1:-1] if is_regex else translate(pattern))
    except re.error as error:
        raise BadInput(f"{where}: {pattern!r} is no pattern: {error.msg}") from error


def named_topics(cluster: Cluster, names: tuple[str, ...]) -> list[str]:
    """The topics that names and patterns stand for, each once, in their order.

    Failure for a pattern that no topic fits; names are taken as they are.
    """
    known = sorted(cluster.topics()) if any(map(is_pattern, names)) else []
    found: dict[str, None] = {}
    for name in names:
        if not is_pattern(name):
            found[name] = None
            continue
        fitting = _fitting(name, known)
        if not fitting:
            raise Failure(f"no topic is like {name}; `barnabas topics list` shows them all")
        found |= dict.fromkeys(fitting)
    return list(found)


def _fitting(pattern: str, known: list[str]) -> list[str]:
    expression = compiled(pattern)
    is_own = pattern.lstrip("/^").startswith(OWN)
    return [name for name in known
            if expression.fullmatch(name) and name.startswith(OWN) == is_own]  # fmt: skip
