"""One-line structured logs on standard error.

    2025-11-28T01:52:03.123Z INFO replication became leader partition=orders-0 epoch=3

time, level, room, message, then facts. A value with blanks, quotes, `=` or anything unprintable
is written as a JSON string, so whatever a client sends stays on its line. The level is set by
`barnabas.log.level`, for all rooms and for single ones: `info,replication=debug`. A disabled call
costs one comparison. Only `unexpected` prints a traceback.
"""

import logging
import sys
import time
from collections.abc import Callable
from typing import TextIO

ERROR, WARN, INFO, DEBUG, TRACE = range(5)
LEVELS = {"error": ERROR, "warn": WARN, "info": INFO, "debug": DEBUG, "trace": TRACE}
LIBRARIES = ("barnabas", "asyncio")
_NAMES = tuple(name.upper() for name in LEVELS)


class _Room:
    """The level that all logs of one room share."""

    __slots__ = ("level", "name")

    def __init__(self, name: str, level: int) -> None:
        self.name = name
        self.level = level


class Log:
    """What one room writes; made by `Logs.room` or, with facts in every line, by `bind`."""

    __slots__ = ("_facts", "_logs", "_room")

    def __init__(self, logs: "Logs", room: _Room, facts: str = "") -> None:
        self._logs = logs
        self._room = room
        self._facts = facts

    @property
    def level(self) -> int:
        """The least urgent level that is written, for callers whose facts are dear to gather."""
        return self._room.level

    def bind(self, **facts: object) -> "Log":
        """A log of the same room that adds `facts` to every line."""
        return Log(self._logs, self._room, self._facts + _format(facts))

    def error(self, message: str, **facts: object) -> None:
        """Something failed that somebody should look at."""
        self._write(ERROR, message, facts)

    def warn(self, message: str, **facts: object) -> None:
        """Something is not as it should be, and the broker goes on."""
        if self._room.level >= WARN:
            self._write(WARN, message, facts)

    def info(self, message: str, **facts: object) -> None:
        """Something happened that an operator may want to know."""
        if self._room.level >= INFO:
            self._write(INFO, message, facts)

    def debug(self, message: str, **facts: object) -> None:
        """Something happened that a developer may want to know."""
        if self._room.level >= DEBUG:
            self._write(DEBUG, message, facts)

    def trace(self, message: str, **facts: object) -> None:
        """Every little thing."""
        if self._room.level >= TRACE:
            self._write(TRACE, message, facts)

    def unexpected(self, message: str, error: BaseException, **facts: object) -> None:
        """An exception nobody foresaw: one line, then its traceback."""
        import traceback

        self._write(ERROR, message, {**facts, "error": repr(error)})
        self._logs.write("".join(traceback.format_exception(error)))

    def _write(self, level: int, message: str, facts: dict[str, object]) -> None:
        logs = self._logs
        when = logs.timestamp()
        line = f"{when} {_NAMES[level]} {self._room.name} {_one_line(message)}{self._facts}"
        logs.write(f"{line}{_format(facts)}\n" if facts else f"{line}\n")


class Logs:
    """All rooms' logs of one broker: where they go and what is left out."""

    def __init__(
        self,
        levels: str = "info",
        stream: TextIO | None = None,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._stream = stream
        self._now_ms = now_ms
        self._second = -1
        self._second_text = ""
        self._rooms: dict[str, _Room] = {}
        self.set_levels(levels)

    def room(self, name: str) -> Log:
        """The log of the room `name`."""
        if name not in self._rooms:
            self._rooms[name] = _Room(name, self._levels.get(name, self._default))
        return Log(self, self._rooms[name])

    def hear_libraries(self) -> None:
        """Write what storage, the registry and asyncio log by Python's `logging`; for a process."""
        for name in LIBRARIES:
            logger = logging.getLogger(name)
            logger.addHandler(_Library(self))
            logger.setLevel(logging.INFO)

    def set_levels(self, levels: str) -> None:
        """Set every room's level from text like `info,replication=debug`."""
        first, *rest = levels.split(",")
        self._default = LEVELS[first]
        self._levels = {room: LEVELS[level] for room, _, level in (r.partition("=") for r in rest)}
        for room in self._rooms.values():
            room.level = self._levels.get(room.name, self._default)

    def set_level(self, room: str | None, level: str | None) -> None:
        """Set one room's level, or with None that of all rooms without one of their own.

        A level of None takes the room's own level back.
        """
        if room is None:
            self._default = LEVELS[level or "info"]
        elif level is None:
            self._levels.pop(room, None)
        else:
            self._levels[room] = LEVELS[level]
        for each in self._rooms.values():
            each.level = self._levels.get(each.name, self._default)

    @property
    def default_level(self) -> str:
        """The level of rooms that have none of their own."""
        return _NAMES[self._default]

    def levels(self) -> dict[str, str]:
        """The level of every room that has logged."""
        return {room.name: _NAMES[room.level] for room in self._rooms.values()}

    def timestamp(self) -> str:
        """The time now in UTC, ISO 8601, to the millisecond."""
        second, ms = divmod(self._now_ms(), 1000)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second_text}.{ms:03d}Z"

    def write(self, text: str) -> None:
        """Write lines out; a standard error that is gone does not stop the broker."""
        try:
            (self._stream or sys.stderr).write(text)
        except (OSError, ValueError):
            return


class _Library(logging.Handler):
    """Writes records of `logging` into the room of the package that they are from."""

    def __init__(self, logs: Logs) -> None:
        super().__init__()
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        package = record.name.removeprefix("barnabas.").removeprefix("server.")
        log = self._logs.room(package.partition(".")[0])
        if record.exc_info and record.exc_info[1]:
            log.unexpected(record.getMessage(), record.exc_info[1])
        elif record.levelno >= logging.ERROR:
            log.error(record.getMessage())
        elif record.levelno >= logging.WARNING:
            log.warn(record.getMessage())
        else:
            log.info(record.getMessage())


def _format(facts: dict[str, object]) -> str:
    return "".join(f" {name}={_value(value)}" for name, value in facts.items())


def _value(value: object) -> str:
    text = str(value)
    if text.isalnum() or (
        text and text.isprintable() and not any(sign in text for sign in " =\"'\\")
    ):
        return text
    return _quoted(text)


def _one_line(message: str) -> str:
    return message if message.isprintable() else _quoted(message)


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)
