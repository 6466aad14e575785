"""The control's commands: one table for a test in Python, and for any other over HTTP.

A command is a method, a path and named fields, and answers what JSON can hold. `perform` is
the only way in; what it raises of `refusals` is for whoever sent the command. The one
difference between the faces: a fault's `predicate` is a function, and only goes in by Python.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.server.core.errors import REFUSALS
from barnabas.server.settings.names import ConfigError
from barnabas.server.testing import broker_commands as broker
from barnabas.server.testing import fault_commands as faults
from barnabas.server.testing import link_commands as links
from barnabas.server.testing import request_commands as requests
from barnabas.server.testing import transaction_commands as transactions
from barnabas.server.testing.broker_commands import Handler, change_life
from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host
from barnabas.server.testing.refusals import BadCommand, NotAllowed, NothingThere

MOST_DIGITS = 9  # of a number in a path


class Command(NamedTuple):
    """What is done on a path by a method; `{id}` in the path is the handler's number."""

    method: str
    path: str
    takes: tuple[str, ...]
    does: str
    handle: Handler


ANSWERED: tuple[type[Exception], ...] = (*REFUSALS, ConfigError)


async def perform(host: Host, method: str, path: str, given: Mapping[str, object]) -> object:
    """Carry out one command. Raises Refusal, and StartFailed or OSError from the broker."""
    command, number = _find(method, path)
    place = f"{method} {path}"
    fields = Fields(place, given, command.takes)
    try:
        return await command.handle(host, fields, number)
    except ANSWERED as error:
        raise BadCommand(f"{place}: {error}") from None


def _find(method: str, path: str) -> tuple[Command, int]:
    """The command, and the number that its path ends in (0: none)."""
    path = path.rstrip("/")
    head, _, last = path.rpartition("/")
    number = int(last) if last.isdecimal() and len(last) <= MOST_DIGITS else 0
    wanted = f"{head}/{{id}}" if number else path
    there = [command for command in COMMANDS if command.path == wanted]
    for command in there:
        if command.method == method:
            return command, number
    if there:
        methods = ", ".join(command.method for command in there)
        raise NotAllowed(f"{path} takes {methods}")
    raise NothingThere(f"nothing at {path}; GET /control tells what there is")


async def _index(host: Host, fields: Fields, number: int) -> object:
    return {
        "commands": [
            {
                "method": each.method,
                "path": each.path,
                "fields": [name for name in each.takes if name != faults.PREDICATE],
                "does": each.does,
            }
            for each in COMMANDS
        ]
    }


COMMANDS = (
    Command("GET", "/control", (), "list the commands", _index),
    Command("GET", "/control/broker", (), "how the broker is", broker.state),
    Command("POST", "/control/broker/stop", (), "stop it in good order", change_life(Host.stop)),
    Command(
        "POST", "/control/broker/kill", (), "stop it as a crash would", change_life(Host.crash)
    ),
    Command("POST", "/control/broker/start", (), "bring it back", change_life(Host.start)),
    Command("POST", "/control/broker/restart", (), "stop, then start", change_life(Host.restart)),
    Command("POST", "/control/pose", ("release",), "restart as another Kafka", broker.pose),
    Command("POST", "/control/snapshot", ("directory",), "copy the data", broker.snapshot),
    Command("POST", "/control/restore", ("directory",), "go back to a copy", broker.restore),
    Command("GET", "/control/topics", ("name",), "the topics it knows", broker.topics),
    Command("POST", "/control/topics", broker.TOPIC, "create a topic", broker.create_topic),
    Command("POST", "/control/clear", (), "delete all topics, groups and faults", broker.clear),
    Command("GET", "/control/clock", (), "the broker's time", broker.now),
    Command(
        "POST", "/control/clock/advance", ("duration",), "let time pass at once", broker.advance
    ),
    Command("POST", "/control/clock/jump", ("duration",), "set the date alone", broker.jump),
    Command("GET", "/control/links", (), "the links that are cut", links.list_all),
    Command("POST", "/control/links/cut", links.CUT, "cut a link", links.cut),
    Command("POST", "/control/links/heal", links.HEAL, "heal a link, or all", links.heal),
    Command("GET", "/control/faults", (), "the faults in force", faults.list_all),
    Command("POST", "/control/faults", faults.FIELDS, "let something go wrong", faults.add),
    Command("DELETE", "/control/faults", (), "take all faults back", faults.remove_all),
    Command("GET", "/control/faults/{id}", (), "one fault, with its hits", faults.show),
    Command("DELETE", "/control/faults/{id}", (), "take one fault back", faults.remove),
    Command("GET", "/control/requests", requests.FIELDS, "what was asked", requests.list_all),
    Command("DELETE", "/control/requests", (), "forget what was asked", requests.forget_all),
    Command(
        "GET",
        "/control/transactions",
        transactions.FIELDS,
        "how transactions stand",
        transactions.list_all,
    ),
)
