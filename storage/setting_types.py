"""How the value of one of Kafka's settings is read from text and checked.

The messages and the printed form of the limits are those of Kafka's ConfigDef, which a
client sees in the answers to CreateTopics and AlterConfigs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TRUTH = {"true": True, "false": False}


class InvalidSetting(ValueError):
    """A setting's value cannot be used; the text names the setting, the value and why."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {reason}")
        self.name = name
        self.value = value
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a setting: its name in ConfigDef, and text to value."""

    name: str
    parse: Callable[[str], Any]
    expected: str


@dataclass(frozen=True, slots=True)
class Limit:
    """What a parsed value must satisfy.

    `describe` is the form ConfigDef prints; `complain` answers the offending value (a list
    may hold one) and the reason, or None.
    """

    describe: str
    complain: Callable[[str, Any], tuple[object, str] | None]


def _integer(bits: int) -> Callable[[str], int]:
    bound = 1 << (bits - 1)

    def parse(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(text)
        value = int(text)
        if not -bound <= value < bound:
            raise ValueError(text)
        return value

    return parse


def _boolean(text: str) -> bool:
    value = _TRUTH.get(text.lower())
    if value is None:
        raise ValueError(text)
    return value


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text else ()


INT = Kind("INT", _integer(32), "Not a number of type INT")
LONG = Kind("LONG", _integer(64), "Not a number of type LONG")
DOUBLE = Kind("DOUBLE", float, "Not a number of type DOUBLE")
BOOLEAN = Kind("BOOLEAN", _boolean, "Expected value to be either true or false")
STRING = Kind("STRING", str, "Not a string")
LIST = Kind("LIST", _list, "Not a list")

UNLIMITED = Limit("null", lambda name, value: None)


def at_least(low: int) -> Limit:
    """A number no smaller than `low`."""

    def complain(name: str, value: float) -> tuple[object, str] | None:
        return None if value >= low else (value, f"Value must be at least {low}")

    return Limit(f"[{low},...]", complain)


def between(low: int, high: int) -> Limit:
    """A number from `low` to `high`, both included; NaN, which Kafka lets through, is neither."""

    def complain(name: str, value: float) -> tuple[object, str] | None:
        if value < low:
            return value, f"Value must be at least {low}"
        return None if value <= high else (value, f"Value must be no more than {high}")

    return Limit(f"[{low},...,{high}]", complain)


def between_or(low: int, high: int, special: int) -> Limit:
    """A number from `low` to `high`, or the one `special` value."""
    reason = f"Value must be between {low} and {high} or equal to {special}"

    def complain(name: str, value: int) -> tuple[object, str] | None:
        return None if value == special or low <= value <= high else (value, reason)

    return Limit(f"[{low},...,{high}] or {special}", complain)


def one_of(*allowed: str) -> Limit:
    """A string, or each member of a list, out of `allowed`."""
    reason = "String must be one of: " + ", ".join(allowed)

    def complain(name: str, value: str | tuple[str, ...]) -> tuple[object, str] | None:
        for member in (value,) if isinstance(value, str) else value:
            if member not in allowed:
                return member, reason
        return None

    return Limit(f"[{', '.join(allowed)}]", complain)


def _throttled_replicas(name: str, value: tuple[str, ...]) -> tuple[object, str] | None:
    if value == ("*",) or all(re.fullmatch("[0-9]+:[0-9]+", member) for member in value):
        return None
    form = THROTTLED_REPLICAS.describe
    reason = f"{name} must be the literal '*' or a list of replicas in the following format: {form}"
    return f"[{', '.join(value)}]", reason


THROTTLED_REPLICAS = Limit(
    "[partitionId]:[brokerId],[partitionId]:[brokerId],...", _throttled_replicas
)
