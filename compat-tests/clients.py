"""Runs the client programs of `contract.md`: starts them, sends commands, collects events.

A program is started in batch mode and serves many commands, one after the other; the pool
keeps idle ones for the next test, because a JVM costs a second to start.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from client_builds import Family
from oracles import stop

Event: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, int]
PATIENCE_SECONDS = 30.0
MAX_IDLE_PROGRAMS = 6

_changed = threading.Condition()  # some program has printed an event


ENDS = ("done", "error", "exited")


class ClientFailed(AssertionError):
    """A program reported an error, died, or did not get where it should in time."""


def wait_until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for events until the condition holds."""
    deadline = time.monotonic() + seconds
    with _changed:
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise ClientFailed(f"not within {seconds} s: {what}")
            _changed.wait(min(left, 0.25))


class Program:
    """One running client program."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.events: list[Event] = []
        launch = family.build()
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [*launch.command, "batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | launch.environment,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._append(json.loads(line))
        self._append({"event": "exited"})

    def _append(self, event: Event) -> None:
        with _changed:
            self.events.append(event)
            _changed.notify_all()

    def send(self, line: str) -> None:
        """Write one line to the program's stdin."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def run(
        self, command: str, options: Mapping[str, object], seconds: float = PATIENCE_SECONDS
    ) -> list[Event]:
        """Run one command to its end and return the events before `done`."""
        first = len(self.events)
        self.send(command_line(command, options))
        self.wait_for_end(first, seconds)
        return self.events[first:-1]

    def wait_for_end(self, first: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait for `done` at or after the event with index `first`; anything else is a failure."""
        try:
            wait_until(lambda: self.has_ended(first), "the end of the command", seconds)
        except ClientFailed as failure:
            raise self.failed(str(failure)) from None
        last = self.events[-1]
        if last["event"] != "done":
            raise self.failed(last.get("message", "it exited"))

    def has_ended(self, first: int) -> bool:
        """Whether a command ended at or after the event with index `first`."""
        # An end is the last event; looking at all of them takes minutes where there are many.
        return len(self.events) > first and self.events[-1]["event"] in ENDS

    def failed(self, message: str) -> ClientFailed:
        """The exception that tells which program failed, and its last words."""
        self._errors.seek(0)
        tail = self._errors.read()[-3000:]
        return ClientFailed(f"{self.family.name}: {message}\n{tail}".rstrip())

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End the program without a word to the broker (SIGKILL)."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End the program; SIGTERM lets a member leave its group."""
        stop(self._process)
        self._reader.join(5)
        self._errors.close()


def command_line(command: str, options: Mapping[str, object]) -> str:
    """A command of the contract: `session_ms=500` becomes `--session-ms 500`; None is left out."""
    words = [command]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name.rstrip('_').replace('_', '-')}", str(value)]
    return " ".join(words)


class Member:
    """A group member: a program that is running the `group` command."""

    def __init__(self, program: Program, options: Mapping[str, object]) -> None:
        self.program = program
        self._first = len(program.events)
        program.send(command_line("group", options))

    @property
    def events(self) -> list[Event]:
        """What it has printed since it began to join."""
        return self.program.events[self._first :]

    def of_kind(self, kind: str) -> list[Event]:
        """Its events of one kind, in order."""
        return [event for event in self.events if event["event"] == kind]

    @property
    def assignment(self) -> set[Place]:
        """The partitions it holds now."""
        held: set[Place] = set()
        for event in self.events:
            if event["event"] == "assigned":
                held |= _places(event)
            elif event["event"] == "revoked":
                held -= _places(event)
        return held

    @property
    def revocations(self) -> list[set[Place]]:
        """What was taken from it, call by call, without the empty ones."""
        return [_places(event) for event in self.of_kind("revoked") if event["partitions"]]

    @property
    def committed(self) -> dict[Place, int]:
        """The last offset of each partition that it says it committed."""
        return {
            (topic, partition): offset
            for event in self.of_kind("committed")
            for topic, partition, offset in event["offsets"]
        }

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition on its events; a program that ended is a failure at once."""
        try:
            wait_until(lambda: condition() or self.has_ended, what)
        except ClientFailed as failure:
            raise self.program.failed(f"{failure}; {self.last_words()}") from None
        if not condition():
            raise self.program.failed(f"ended before: {what}; {self.last_words()}")

    @property
    def has_ended(self) -> bool:
        """Whether its command is over, whatever way."""
        return self.program.has_ended(self._first)

    def last_words(self) -> str:
        """What it printed last, for the message of a failure."""
        events = [_brief(event) for event in self.events[-12:]]
        return f"{self.program.family.name} printed {json.dumps(events)}"

    def apply(self, line: str) -> None:
        """Send a line such as `seek T 0 5` and wait until it has taken effect."""
        before = len(self.of_kind("applied"))
        self.program.send(line)
        self.wait_until(lambda: len(self.of_kind("applied")) > before, line)

    def leave(self) -> None:
        """Leave the group cleanly and wait for the end."""
        self.program.send("leave")
        self.program.wait_for_end(self._first)


def _places(event: Event) -> set[Place]:
    return {(topic, partition) for topic, partition in event["partitions"]}


def _brief(event: Event) -> Event:
    return {name: value for name, value in event.items() if name not in ("value", "headers")}


class ClientPool:
    """Programs by family; idle ones are used again, the oldest are closed beyond a limit."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._idle: list[Program] = []

    def take(self, family: Family) -> Program:
        """Return an idle program of the family, or a new one."""
        for program in self._idle:
            if program.family is family:
                self._idle.remove(program)
                return program
        return Program(family)

    def give_back(self, program: Program) -> None:
        """Keep the program for the next test; one that has ended is closed."""
        if not program.is_alive:
            program.close()
            return
        program.events.clear()
        self._idle.append(program)
        if len(self._idle) > MAX_IDLE_PROGRAMS:
            self._idle.pop(0).close()

    def run(
        self, family: Family, command: str, *, seconds: float = PATIENCE_SECONDS, **options: object
    ) -> list[Event]:
        """Run one command in a program of the family; a program that failed is not used again."""
        program = self.take(family)
        try:
            events = program.run(command, {"bootstrap": self.bootstrap} | options, seconds)
        except BaseException:
            program.close()
            raise
        self.give_back(program)
        return events

    @contextmanager
    def member(self, family: Family, **options: object) -> Iterator[Member]:
        """A group member for the length of a block; leaving the block leaves the group."""
        program = self.take(family)
        defaults = {"bootstrap": self.bootstrap, "assignor": family.assignor}
        member = Member(program, defaults | options)
        try:
            yield member
            if program.is_alive and not member.has_ended:
                member.leave()
        except BaseException:
            program.close()
            raise
        self.give_back(program)

    def close(self) -> None:
        """End every idle program."""
        for program in self._idle:
            program.close()
