"""What AlterConfigs and IncrementalAlterConfigs share: many resources, each with its outcome."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from barnabas.server.core.errors import REFUSALS, ApiError, code_of, message_of
from barnabas.server.core.turns import Turns
from barnabas.server.settings.changes.alter import Change, alter_resource
from barnabas.server.settings.changes.services import SettingsServices
from barnabas.wire.error_codes import ErrorCode

Response = TypeVar("Response")


class Resource(Protocol):
    """What the messages of both APIs call a resource."""

    resource_type: int
    resource_name: str


class Outcome(NamedTuple):
    """What became of the change of one resource."""

    code: ErrorCode
    message: str | None
    resource_type: int
    resource_name: str


async def alter_all(
    services: SettingsServices, turns: Turns, changes: Sequence[tuple[int, str, Change]]
) -> list[Outcome]:
    """Alter (type, name, change) one after the other; those named twice are refused."""
    named = Counter((kind, name) for kind, name, _ in changes)
    outcomes = []
    pauses = turns.pauses()
    for kind, name, change in changes:
        await pauses.pause()
        try:
            if named[kind, name] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            await alter_resource(services, kind, name, change)
        except REFUSALS as error:
            outcomes.append(Outcome(code_of(error), message_of(error), kind, name))
        else:
            outcomes.append(Outcome(ErrorCode.NONE, None, kind, name))
    return outcomes


def refused(resources: Iterable[Resource], code: ErrorCode) -> list[Outcome]:
    """One outcome for all."""
    return [Outcome(code, None, each.resource_type, each.resource_name) for each in resources]


def responses(make: Callable[..., Response], outcomes: Iterable[Outcome]) -> list[Response]:
    """The outcomes as the message class of either API."""
    return [response(make, outcome) for outcome in outcomes]


def response(make: Callable[..., Response], outcome: Outcome) -> Response:
    """One of them."""
    return make(
        error_code=int(outcome.code),
        error_message=outcome.message,
        resource_type=outcome.resource_type,
        resource_name=outcome.resource_name,
    )
