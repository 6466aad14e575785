"""Types and limits that only a broker's settings have; storage's `setting_types` has the rest."""

from typing import Final

from barnabas.storage.message_format import MESSAGE_FORMAT_VERSION
from barnabas.storage.setting_types import (
    INT,
    Kind,
    Limit,
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


def fraction(low: int, high: float) -> Limit:
    """A number from `low` to `high`."""

    def complain(name: str, value: float) -> Complaint:
        return None if low <= value <= high else (value, f"must be from {low} to {high}")

    return Limit(f"[{low},...,{high}]", complain)


def in_any_case(*allowed: str) -> Limit:
    """One of these words, which are in capitals here."""
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


KAFKA_VERSION: Final = MESSAGE_FORMAT_VERSION
"""3.9, 2.8-IV1, 0.10.2, …"""
LEVELS: Final = Limit("level,room=level,...", _log_levels)
NO_DUPLICATES: Final = Limit("", _no_duplicates)
NON_EMPTY: Final = Limit("non-empty string", _non_empty)
NON_EMPTY_LIST: Final = Limit("", _non_empty_list)
"""A list with a member and no duplicates."""
NON_NULL: Final = Limit("non-null string", lambda name, value: None)
QUORUM: Final = Limit("non-empty list", lambda name, value: None)
"""KRaft's voters, unchecked here."""
