"""The control's commands: one table for a test in Python, and for any other over HTTP.

A command is a method, a path and named fields, and answers what JSON can hold. `perform` is
the only way in; what it raises of `refusals` is for whoever sent the command. The one
difference between the faces: a fault's `predicate` is a function, and only goes in by Python.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple, get_args

from barnabas.server.control import Action, Fault
from barnabas.server.endpoints import Endpoint
from barnabas.server.errors import ApiError
from barnabas.server.settings.names import ConfigError
from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host
from barnabas.server.testing.refusals import (
    BadCommand,
    NotAllowed,
    NothingThere,
    NotInTime,
)
from barnabas.server.testing.seen import Seen, seen_to_json
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode

ACTIONS: tuple[Action, ...] = get_args(Action)
WAIT_TIMEOUT_MS = 10_000
PREDICATE = "predicate"  # the one field that is no JSON
AN_API = "the name of an API, as OFFSET_COMMIT"
AN_ERROR = "the name of an error, as NOT_COORDINATOR"
# Fields that mean something to one action only.
_OF_ACTION = {"error": "error", "delay_ms": "delay", "throttle_ms": "throttle"}

Handler = Callable[[Host, Fields, int], Awaitable[object]]


class Command(NamedTuple):
    """What is done on a path by a method; `{id}` in the path is the handler's number."""

    method: str
    path: str
    takes: tuple[str, ...]
    does: str
    handle: Handler


async def perform(host: Host, method: str, path: str, given: Mapping[str, object]) -> object:
    """Carry out one command. Raises Refusal, and StartFailed or OSError from the broker."""
    command, number = _find(method, path)
    place = f"{method} {path}"
    fields = Fields(place, given, command.takes)
    try:
        return await command.handle(host, fields, number)
    except (ApiError, ConfigError) as error:
        raise BadCommand(f"{place}: {error}") from None


def _find(method: str, path: str) -> tuple[Command, int]:
    """The command, and the number that its path ends in (0: none)."""
    path = path.rstrip("/")
    head, _, last = path.rpartition("/")
    number = int(last) if last.isdecimal() else 0
    wanted = f"{head}/{{id}}" if number else path
    there = [command for command in COMMANDS if command.path == wanted]
    for command in there:
        if command.method == method:
            return command, number
    if there:
        methods = ", ".join(command.method for command in there)
        raise NotAllowed(f"{path} takes {methods}")
    raise NothingThere(f"nothing at {path}; GET /control tells what there is")


# The broker.


async def _index(host: Host, fields: Fields, number: int) -> object:
    return {
        "commands": [
            {
                "method": each.method,
                "path": each.path,
                "fields": [name for name in each.takes if name != PREDICATE],
                "does": each.does,
            }
            for each in COMMANDS
        ]
    }


async def _broker(host: Host, fields: Fields, number: int) -> object:
    return {
        "running": host.is_running,
        "bootstrap_servers": _address(host.endpoints[0]),
        "listeners": [str(endpoint) for endpoint in host.endpoints],
        "data_dir": str(host.config.data_dirs[0]),
        "pose": host.config.barnabas_pose_as,
    }


def _address(endpoint: Endpoint) -> str:
    host = "127.0.0.1" if endpoint.host in ("", "0.0.0.0") else endpoint.host
    return f"[{host}]:{endpoint.port}" if ":" in host else f"{host}:{endpoint.port}"


def _life(change: Callable[[Host], Awaitable[None]]) -> Handler:
    async def handle(host: Host, fields: Fields, number: int) -> object:
        await change(host)
        return await _broker(host, fields, number)

    return handle


async def _pose(host: Host, fields: Fields, number: int) -> object:
    await host.pose_as(fields.optional_text("release") or "")
    return await _broker(host, fields, number)


async def _snapshot(host: Host, fields: Fields, number: int) -> object:
    await host.snapshot(_folder(fields))
    return await _broker(host, fields, number)


async def _restore(host: Host, fields: Fields, number: int) -> object:
    await host.restore(_folder(fields))
    return await _broker(host, fields, number)


def _folder(fields: Fields) -> Path:
    """An absolute path: what the broker's working directory is, is nobody's business."""
    folder = Path(fields.text("directory"))
    if not folder.is_absolute():
        raise fields.wrong("directory", "an absolute path")
    return folder


async def _create_topic(host: Host, fields: Fields, number: int) -> object:
    name = fields.text("name")
    partitions = fields.whole_number("partitions", 1) or 1
    await host.create_topic(name, partitions, fields.settings("settings"))
    return {"name": name, "partitions": partitions}


async def _clear(host: Host, fields: Fields, number: int) -> object:
    await host.clear()
    return {}


# The clock.


async def _now(host: Host, fields: Fields, number: int) -> object:
    return {"now_ms": host.now_ms()}


async def _advance(host: Host, fields: Fields, number: int) -> object:
    duration = fields.raw("duration")
    if not isinstance(duration, str):
        duration = fields.milliseconds("duration", -1)
    try:
        await host.advance(duration)
    except ValueError as error:
        raise fields.bad(str(error)) from None
    return {"now_ms": host.now_ms()}


# Faults.


async def _add_fault(host: Host, fields: Fields, number: int) -> object:
    action = next(each for each in ACTIONS if each == fields.one_of("action", ACTIONS, "none"))
    for name, owner in _OF_ACTION.items():
        if name in fields and action != owner:
            raise fields.bad(f"`{name}` goes with the action {owner}, not with {action}")
    fault = Fault(
        action=action,
        api=fields.named("api", ApiKey, AN_API),
        version=fields.whole_number("version"),
        client_id=fields.optional_text("client_id"),
        topic=fields.optional_text("topic"),
        partition=fields.whole_number("partition"),
        predicate=_predicate(fields),
        skip=fields.whole_number("skip") or 0,
        times=fields.whole_number("times", 1) if "times" in fields else 1,
        error=fields.named("error", ErrorCode, AN_ERROR) or ErrorCode.UNKNOWN_SERVER_ERROR,
        delay_ms=fields.milliseconds("delay_ms", 0),
        throttle_ms=fields.whole_number("throttle_ms") or 0,
    )
    return _fault(host.faults.add(fault))


def _predicate(fields: Fields) -> Callable[[object], bool] | None:
    predicate = fields.raw(PREDICATE)
    if predicate is not None and not callable(predicate):
        raise fields.wrong(PREDICATE, "a function, which only a broker in the process can take")
    return predicate


async def _list_faults(host: Host, fields: Fields, number: int) -> object:
    return {"faults": [_fault(each) for each in host.faults]}


async def _show_fault(host: Host, fields: Fields, number: int) -> object:
    return _fault(_find_fault(host, number))


async def _remove_fault(host: Host, fields: Fields, number: int) -> object:
    fault = _find_fault(host, number)
    host.faults.remove(fault)
    return _fault(fault)


async def _remove_faults(host: Host, fields: Fields, number: int) -> object:
    answer = await _list_faults(host, fields, number)
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


# Requests.


async def find_requests(host: Host, fields: Fields) -> list[Seen]:
    """What `GET /control/requests` asks for, before it is JSON. Raises NotInTime."""
    api = fields.named("api", ApiKey, AN_API)
    count = fields.whole_number("count") or 0
    timeout_ms = fields.milliseconds("timeout_ms", WAIT_TIMEOUT_MS)
    found = await host.seen.wait_for(
        api,
        fields.optional_text("client_id"),
        fields.whole_number("after") or 0,
        count,
        timeout_ms,
    )
    if len(found) < count:
        of = f" of {api.name}" if api is not None else ""
        raise NotInTime(f"{len(found)} requests{of} in {timeout_ms / 1000:g} s, not {count}")
    return found


async def _list_requests(host: Host, fields: Fields, number: int) -> object:
    return {"requests": [seen_to_json(each) for each in await find_requests(host, fields)]}


async def _forget_requests(host: Host, fields: Fields, number: int) -> object:
    host.seen.clear()
    return {}


_FAULT = (
    "action", "api", "version", "client_id", "topic", "partition", "skip", "times", "error",
    "delay_ms", "throttle_ms", PREDICATE,
)  # fmt: skip
REQUEST_FIELDS = ("api", "client_id", "after", "count", "timeout_ms")

COMMANDS = (
    Command("GET", "/control", (), "list the commands", _index),
    Command("GET", "/control/broker", (), "how the broker is", _broker),
    Command("POST", "/control/broker/stop", (), "stop it in good order", _life(Host.stop)),
    Command("POST", "/control/broker/kill", (), "stop it as a crash would", _life(Host.crash)),
    Command("POST", "/control/broker/start", (), "bring it back", _life(Host.start)),
    Command("POST", "/control/broker/restart", (), "stop, then start", _life(Host.restart)),
    Command("POST", "/control/pose", ("release",), "restart as another Kafka", _pose),
    Command("POST", "/control/snapshot", ("directory",), "copy the data", _snapshot),
    Command("POST", "/control/restore", ("directory",), "go back to a copy", _restore),
    Command(
        "POST", "/control/topics", ("name", "partitions", "settings"), "create a topic",
        _create_topic,
    ),
    Command("POST", "/control/clear", (), "delete all topics, groups and faults", _clear),
    Command("GET", "/control/clock", (), "the broker's time", _now),
    Command("POST", "/control/clock/advance", ("duration",), "let time pass at once", _advance),
    Command("GET", "/control/faults", (), "the faults in force", _list_faults),
    Command("POST", "/control/faults", _FAULT, "let something go wrong", _add_fault),
    Command("DELETE", "/control/faults", (), "take all faults back", _remove_faults),
    Command("GET", "/control/faults/{id}", (), "one fault, with its hits", _show_fault),
    Command("DELETE", "/control/faults/{id}", (), "take one fault back", _remove_fault),
    Command("GET", "/control/requests", REQUEST_FIELDS, "what was asked", _list_requests),
    Command("DELETE", "/control/requests", (), "forget what was asked", _forget_requests),
)  # fmt: skip
