"""What the limits in the tables mean, and the types that only broker settings have.

[1..]  [0..1]  [1..9,-1]     numbers from, from and to, the same or one value more
[a|b]  [~A|B]                one of these words (each of them, in a list); ~ in any case
[non-empty] [non-null]       text
[non-empty-list]             a list with a member and no duplicates
[no-duplicates]              a list
[quorum]                     KRaft's voters, unchecked here
[kafka-version]              3.9, 2.8-IV1, 0.10.2, ...
[log-levels]                 level, or level,room=level,...
"""

from functools import cache

from barnabas.storage.message_format import MESSAGE_FORMAT_VERSION
from barnabas.storage.setting_types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    STRING,
    UNLIMITED,
    Kind,
    Limit,
    at_least,
    between,
    between_or,
    one_of,
)

Complaint = tuple[object, str] | None

LOG_LEVELS = ("error", "warn", "info", "debug", "trace")


def _short(text: str) -> int:
    value: int = INT.parse(text)
    if not -(1 << 15) <= value < 1 << 15:
        raise ValueError(text)
    return value


SHORT = Kind("SHORT", _short, "Not a number of type SHORT")
CLASS = Kind("CLASS", str, "Not a class name")
PASSWORD = Kind("PASSWORD", str, "Not a password")

KINDS = {
    kind.name.lower(): kind
    for kind in (BOOLEAN, CLASS, DOUBLE, INT, LIST, LONG, PASSWORD, SHORT, STRING)
}


@cache
def limit_of(text: str) -> Limit:
    """The limit that a table writes as `[text]`."""
    if not text:
        return UNLIMITED
    if named := _NAMED.get(text):
        return named
    if ".." in text:
        return _range(text)
    if text[0] == "~":
        return _one_of_in_any_case(*text[1:].split("|"))
    return one_of(*text.split("|"))


def _range(text: str) -> Limit:
    low, _, rest = text.partition("..")
    high, _, special = rest.partition(",")
    if not high:
        return at_least(int(low))
    if special:
        return between_or(int(low), int(high), int(special))
    if "." in high:
        return _up_to_a_fraction(int(low), float(high))
    return between(int(low), int(high))


def _up_to_a_fraction(low: int, high: float) -> Limit:
    def complain(name: str, value: float) -> Complaint:
        return None if low <= value <= high else (value, f"must be from {low} to {high}")

    return Limit(f"[{low},...,{high}]", complain)


def _one_of_in_any_case(*allowed: str) -> Limit:
    reason = "String must be one of (case insensitive): " + ", ".join(allowed)

    def complain(name: str, value: str) -> Complaint:
        return None if value.upper() in allowed else (value, reason)

    return Limit(f"(case insensitive) [{', '.join(allowed)}]", complain)


def _non_empty(name: str, value: str | None) -> Complaint:
    return (value, "String must be non-empty") if value == "" else None


def _no_duplicates(name: str, value: tuple[str, ...]) -> Complaint:
    return (",".join(value), "no two may be equal") if len(set(value)) < len(value) else None


def _non_empty_list(name: str, value: tuple[str, ...]) -> Complaint:
    return _no_duplicates(name, value) if value else ("", "must name at least one")


def _log_levels(name: str, value: str) -> Complaint:
    first, *rest = value.split(",")
    pairs = [part.partition("=") for part in rest]
    if first in LOG_LEVELS and all(room and level in LOG_LEVELS for room, _, level in pairs):
        return None
    return value, f"must be a level ({', '.join(LOG_LEVELS)}), with room=level after it if wanted"


_NAMED = {
    "kafka-version": MESSAGE_FORMAT_VERSION,
    "log-levels": Limit("level,room=level,...", _log_levels),
    "no-duplicates": Limit("", _no_duplicates),
    "non-empty": Limit("non-empty string", _non_empty),
    "non-empty-list": Limit("", _non_empty_list),
    "non-null": Limit("non-null string", lambda name, value: None),
    "quorum": Limit("non-empty list", lambda name, value: None),
}
