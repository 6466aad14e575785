"""Changes of a resource's own settings, as pure functions: settings in, settings out.

Appending to and taking from a list works on the resource's own list or, where it has none, on
the default. Source: kafka.server.ConfigAdminManager.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.server.core.errors import ApiError
from barnabas.wire.error_codes import ErrorCode


class Operation(IntEnum):
    """Kafka's numbers for what to do with one setting (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


MOST_SETTINGS: Final = 1_000
MOST_CHARACTERS: Final = 200_000
"""Of one resource's own settings, and of a change of them: twice what Kafka knows, by far. They
are judged and written as a whole, so more would keep others waiting."""

_OPERATIONS = frozenset(map(int, Operation))


class Alteration(NamedTuple):
    """What to do with one setting."""

    name: str
    operation: int
    value: str | None


ListOf = Callable[[str], Collection[str] | None]
"""The default of a setting that is a list, None if it is no list."""


def check_size(settings: Collection[tuple[str, str | None]]) -> None:
    """Refuse more than one resource may have; raises ApiError INVALID_CONFIG."""
    if len(settings) > MOST_SETTINGS:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"More than {MOST_SETTINGS} settings.")
    if sum(len(name) + len(value or "") for name, value in settings) > MOST_CHARACTERS:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"More than {MOST_CHARACTERS} characters.")


def check_alterations(alterations: Collection[Alteration]) -> None:
    """Refuse what makes no sense whatever the resource; raises ApiError."""
    check_size([(name, value) for name, _, value in alterations])
    counts = Counter(alteration.name for alteration in alterations)
    if any(count > 1 for count in counts.values()):
        raise _invalid("Error due to duplicate config keys")
    for name, operation, value in alterations:
        if operation not in _OPERATIONS:
            raise _invalid(f"Unknown operation {operation} for config key: {name}")
        if value is None and operation != Operation.DELETE:
            raise _invalid(f"Null value not supported for : {name}")


def altered(
    own: Mapping[str, str], alterations: Collection[Alteration], list_of: ListOf
) -> dict[str, str]:
    """A resource's own settings after `alterations`, which `check_alterations` has let through.

    Raises ApiError INVALID_CONFIG for a list operation on something else.
    """
    result = dict(own)
    for name, operation, value in alterations:
        if operation == Operation.DELETE:
            result.pop(name, None)
        elif operation == Operation.SET:
            result[name] = value or ""
        else:
            members = _members(name, operation, result, list_of)
            result[name] = ",".join(_changed(members, operation, _split(value or "")))
    return result


def replaced(alterations: Collection[Alteration]) -> dict[str, str]:
    """The settings that a resource has left when all of its own are replaced."""
    return {name: value or "" for name, _, value in alterations}


def _members(name: str, operation: int, own: Mapping[str, str], list_of: ListOf) -> Collection[str]:
    default = list_of(name)
    if default is None:
        verb = Operation(operation).name.lower()
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {name}"
        )
    return _split(own[name]) if name in own else default


def _changed(members: Collection[str], operation: int, given: list[str]) -> list[str]:
    if operation == Operation.APPEND:
        known = frozenset(members)
        return [*members, *(each for each in given if each not in known)]
    taken = frozenset(given)
    return [each for each in members if each not in taken]


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
