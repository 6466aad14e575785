"""Commands about faults. A predicate is a function, and only comes from the same process."""

from collections.abc import Callable
from typing import get_args

from barnabas.server.requests.faults import Action, Fault
from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host
from barnabas.server.testing.refusals import NothingThere
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode

ACTIONS: tuple[Action, ...] = get_args(Action)
PREDICATE = "predicate"  # the one field that is no JSON
FIELDS = (
    "action", "api", "version", "client_id", "topic", "partition", "skip", "times", "error",
    "delay_ms", "throttle_ms", PREDICATE,
)  # fmt: skip
# Fields that mean something to one action only.
_OF_ACTION = {"error": "error", "delay_ms": "delay", "throttle_ms": "throttle"}


async def add(host: Host, fields: Fields, number: int) -> object:
    """Put a fault in force."""
    fault = Fault(
        action=_action(fields),
        api=fields.named("api", ApiKey, "the name of an API, as OFFSET_COMMIT"),
        version=fields.whole_number("version"),
        client_id=fields.optional_text("client_id"),
        topic=fields.optional_text("topic"),
        partition=fields.whole_number("partition"),
        predicate=_predicate(fields),
        skip=fields.whole_number("skip") or 0,
        times=fields.whole_number("times", 1) if "times" in fields else 1,
        delay_ms=fields.milliseconds("delay_ms", 0),
        throttle_ms=fields.whole_number("throttle_ms") or 0,
    )
    code = fields.named("error", ErrorCode, "the name of an error, as NOT_COORDINATOR")
    if code is not None:
        fault.error = code
    return _fault(host.faults.add(fault))


def _action(fields: Fields) -> Action:
    """What is to happen; a field that means something to another action is a mistake."""
    name = fields.one_of("action", ACTIONS, "none")
    for field, owner in _OF_ACTION.items():
        if field in fields and name != owner:
            raise fields.bad(f"`{field}` goes with the action {owner}, not with {name}")
    return next(each for each in ACTIONS if each == name)


def _predicate(fields: Fields) -> Callable[[object], bool] | None:
    predicate = fields.raw(PREDICATE)
    if predicate is not None and not callable(predicate):
        raise fields.wrong(PREDICATE, "a function, which only a broker in the process can take")
    return predicate


async def list_all(host: Host, fields: Fields, number: int) -> object:
    """The faults in force, with their counts."""
    return {"faults": [_fault(each) for each in host.faults]}


async def show(host: Host, fields: Fields, number: int) -> object:
    """One fault, in force or taken back."""
    return _fault(_find_fault(host, number))


async def remove(host: Host, fields: Fields, number: int) -> object:
    """Take a fault back; harmless when it has been."""
    fault = _find_fault(host, number)
    host.faults.remove(fault)
    return _fault(fault)


async def remove_all(host: Host, fields: Fields, number: int) -> object:
    """Take all faults back; those that were in force."""
    answer = await list_all(host, fields, number)
    host.faults.clear()
    return answer


def _find_fault(host: Host, number: int) -> Fault:
    fault = host.faults.find(number)
    if fault is None:
        raise NothingThere(f"there never was a fault {number}")
    return fault


def _fault(fault: Fault) -> dict[str, object]:
    return {
        "id": fault.number,
        "action": fault.action,
        "api": fault.api.name if fault.api is not None else None,
        "version": fault.version,
        "client_id": fault.client_id,
        "topic": fault.topic,
        "partition": fault.partition,
        "skip": fault.skip,
        "times": fault.times,
        "error": fault.error.name if fault.action == "error" else None,
        "delay_ms": fault.delay_ms,
        "throttle_ms": fault.throttle_ms,
        "seen": fault.seen,
        "hits": fault.hits,
    }
