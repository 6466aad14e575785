"""The Python programs' half of `contract.md`: arguments, records, events, the command loop."""

import argparse
import base64
import json
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Protocol

Headers = list[tuple[str, bytes | None]]
Offsets = dict[tuple[str, int], int]


class CommitFailed(Exception):
    """The coordinator refused a commit; the member goes on."""


@dataclass(frozen=True)
class Record:
    """One record of the deterministic series, or one that was read."""

    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True)
class Received:
    """A record with its place in the log."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    record: Record


def record_at(prefix: str, index: int) -> Record:
    """Record `index` of the series that `contract.md` defines."""
    key = None if index % 5 == 4 else f"{prefix}-key-{index}".encode()
    value = None if index % 10 == 6 else _value_at(prefix, index)
    if index % 2:
        return Record(key, value, [])
    binary = bytes([0, 255, index % 256])
    return Record(key, value, [("index", b"%d" % index), ("index", b"again"), ("binary", binary)])


def _value_at(prefix: str, index: int) -> bytes:
    return (
        f"{prefix}-value-{index}-".encode()
        + bytes([index % 256, 255, 0])
        + b"x" * (index * 37 % 500)
    )


_print_lock = threading.Lock()


def emit(event: str, **fields: object) -> None:
    """Print one event line."""
    with _print_lock:
        sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
        sys.stdout.flush()


def emit_partitions(event: str, partitions: Iterable[tuple[str, int]]) -> None:
    """Print an `assigned` or `revoked` event."""
    emit(event, partitions=sorted(partitions))


def emit_committed(offsets: Offsets) -> None:
    """Print a `committed` event."""
    emit("committed", offsets=sorted([*key, offset] for key, offset in offsets.items()))


def emit_record(received: Received) -> None:
    """Print a `record` event."""
    record = received.record
    emit(
        "record",
        topic=received.topic,
        partition=received.partition,
        offset=received.offset,
        timestamp=received.timestamp_ms,
        key=_base64(record.key),
        value=_base64(record.value),
        headers=[[name, _base64(value)] for name, value in record.headers],
    )


def emit_drained(received: Received) -> None:
    """Print a `drained` event: where a record was, and how long its value is."""
    size = len(received.record.value or b"")
    emit("drained", partition=received.partition, offset=received.offset, size=size)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


class Control:
    """Lines of stdin and SIGTERM, as one queue; None stands for the end of either."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.ended = False

    def start(self, *, end_of_input_leaves: bool) -> None:
        """Listen to SIGTERM and, from a thread of its own, to stdin."""
        signal.signal(signal.SIGTERM, self._on_signal)
        threading.Thread(target=self._read, args=(end_of_input_leaves,), daemon=True).start()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._lines.put(None)

    def _read(self, end_of_input_leaves: bool) -> None:
        for line in sys.stdin:
            self._lines.put(line.strip())
        if end_of_input_leaves:
            self._lines.put(None)

    def next_line(self) -> str | None:
        """The next line, or None at the end."""
        if self.ended:
            return None
        line = self._lines.get()
        self.ended = line is None
        return line

    def pending(self) -> list[str]:
        """Lines that have arrived; the end is told as `leave`."""
        lines = []
        while not self._lines.empty():
            lines.append(self.next_line() or "leave")
        return lines


class Member(Protocol):
    """A group member, as the loop below drives it; it prints its own rebalance events."""

    def poll(self) -> list[Received]: ...
    def commit_sync(self, offsets: Offsets) -> None: ...
    def commit_async(self, offsets: Offsets) -> None: ...
    def seek(self, topic: str, partition: int, offset: int) -> None: ...
    def pause(self, topic: str, partition: int) -> None: ...
    def resume(self, topic: str, partition: int) -> None: ...
    def close(self) -> None: ...


class Client(Protocol):
    """What a family's program implements."""

    def produce(self, options: argparse.Namespace) -> None: ...
    def consume(self, options: argparse.Namespace) -> Iterable[Received]: ...
    def drain(self, options: argparse.Namespace) -> Iterable[Received]: ...
    def member(self, options: argparse.Namespace) -> Member: ...
    def transactor(self, options: argparse.Namespace) -> "Transactor": ...
    def transformer(self, options: argparse.Namespace) -> "Transformer": ...


def run_member(member: Member, options: argparse.Namespace, control: Control) -> None:
    """Poll, print and commit until told to leave, or until count, idle time or time is up."""
    loop = _MemberLoop(member, options)
    try:
        while not loop.is_over():
            loop.step()
            for line in control.pending():
                loop.apply(line)
    finally:
        member.close()


class _MemberLoop:
    def __init__(self, member: Member, options: argparse.Namespace) -> None:
        self._member, self._options = member, options
        self._read: Offsets = {}
        self._count = 0
        self._leaving = False
        self._started = self._last_record = time.monotonic()

    def is_over(self) -> bool:
        options, now = self._options, time.monotonic()
        limits = (
            (options.count, self._count),
            (options.timeout_ms, (now - self._started) * 1000),
            (options.idle_ms, (now - self._last_record) * 1000),
        )
        return self._leaving or any(limit and used >= limit for limit, used in limits)

    def step(self) -> None:
        fresh: Offsets = {}
        for received in self._member.poll():
            emit_record(received)
            fresh[received.topic, received.partition] = received.offset + 1
            self._count += 1
            self._last_record = time.monotonic()
        self._read |= fresh
        if fresh and self._options.commit == "sync":
            self._commit(fresh)
        elif fresh and self._options.commit == "async":
            self._member.commit_async(fresh)

    def _commit(self, offsets: Offsets) -> None:
        try:
            self._member.commit_sync(offsets)
        except CommitFailed as error:
            emit("commit_failed", message=str(error))
        else:
            emit_committed(offsets)

    def apply(self, line: str) -> None:
        name, *words = line.split()
        if name == "commit":
            self._commit(self._read)
        elif name == "leave":
            self._leaving = True
        elif name == "seek":
            self._member.seek(words[0], int(words[1]), int(words[2]))
        elif name in ("pause", "resume"):
            getattr(self._member, name)(words[0], int(words[1]))
        else:
            raise ValueError(f"unknown command {line!r}")
        emit("applied", command=line)


class Transactor(Protocol):
    """A transactional producer, as the loop below drives it."""

    def init(self) -> None: ...
    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, records: Sequence[Record]) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


def run_transactor(transactor: Transactor, control: Control) -> None:
    """Apply the lines of stdin until one says `leave`."""
    while (line := control.next_line() or "leave") != "leave":
        try:
            _apply_to(transactor, line)
        except Exception as error:
            emit("refused", command=line, message=f"{type(error).__name__}: {error}")
        else:
            emit("applied", command=line)
    transactor.close()


def _apply_to(transactor: Transactor, line: str) -> None:
    name, *words = line.split()
    if name == "send":
        topic, partition, count, prefix = words
        records = [record_at(prefix, index) for index in range(int(count))]
        transactor.send(topic, int(partition), records)
    elif name in ("init", "begin", "commit", "abort"):
        getattr(transactor, name)()
    else:
        raise ValueError(f"unknown command {line!r}")


class Transformer(Protocol):
    """Reads as a group member and writes what it read, with the offsets, in transactions."""

    def poll(self, most: int) -> list[Received]: ...
    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, records: Sequence[Record]) -> None: ...
    def send_offsets(self, offsets: Offsets) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...

    def go_back(self, offsets: Offsets) -> None:
        """Read again what the aborted transaction had read: it began at these offsets."""

    def close(self) -> None: ...


def run_transformer(transformer: Transformer, options: argparse.Namespace) -> None:
    """Transform so many records; the first transaction is aborted, and begun again."""
    try:
        deadline, left, is_first = time.monotonic() + options.timeout_ms / 1000, options.count, True
        while left > 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{left} records are left")
            received = transformer.poll(options.batch)
            if received:
                _transform(transformer, options.to, received, is_commit=not is_first)
                left -= 0 if is_first else len(received)
                is_first = False
    finally:
        transformer.close()


def _transform(
    transformer: Transformer, topic: str, received: Sequence[Received], *, is_commit: bool
) -> None:
    transformer.begin()
    for each in received:
        transformer.send(topic, each.partition, [each.record])
    offsets = {(each.topic, each.partition): each.offset + 1 for each in received}
    transformer.send_offsets(offsets)
    if is_commit:
        transformer.commit()
        emit_committed(offsets)
        return
    transformer.abort()
    emit("aborted", count=len(received))
    transformer.go_back({(r.topic, r.partition): r.offset for r in reversed(received)})


def parser() -> argparse.ArgumentParser:
    """The arguments of `contract.md`."""
    top = argparse.ArgumentParser()
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("batch")
    for name, add in _COMMANDS.items():
        command = commands.add_parser(name)
        command.add_argument("--bootstrap", required=True)
        command.add_argument("--topic", required=name != "transact")
        add(command)
    return top


def _add_produce(command: argparse.ArgumentParser) -> None:
    command.add_argument("--partition", type=int, default=-1)
    command.add_argument("--count", type=int, default=10)
    command.add_argument("--prefix", default="p")
    command.add_argument("--codec", default="none")
    command.add_argument("--acks", default="all", choices=("0", "1", "all"))
    command.add_argument("--idempotent", type=int, default=0)
    command.add_argument("--timestamp", type=int, default=-1)


def _add_consume(command: argparse.ArgumentParser) -> None:
    command.add_argument("--partition", type=int, default=0)
    command.add_argument("--from", dest="start", default="earliest")
    command.add_argument("--count", type=int, default=10)
    command.add_argument("--timeout-ms", type=int, default=10_000)
    command.add_argument("--isolation")


def _add_transact(command: argparse.ArgumentParser) -> None:
    command.add_argument("--transactional-id", required=True)
    command.add_argument("--timeout-ms", type=int, default=60_000)


def _add_transform(command: argparse.ArgumentParser) -> None:
    command.add_argument("--transactional-id", required=True)
    command.add_argument("--group", required=True)
    command.add_argument("--to", required=True)
    command.add_argument("--batch", type=int, default=7)
    command.add_argument("--count", type=int, default=10)
    command.add_argument("--timeout-ms", type=int, default=30_000)


def _add_group(command: argparse.ArgumentParser) -> None:
    command.add_argument("--group", required=True)
    command.add_argument("--assignor", default="range")
    command.add_argument("--instance-id")
    command.add_argument("--commit", default="none", choices=("sync", "async", "auto", "none"))
    command.add_argument("--from", dest="start", default="earliest")
    command.add_argument("--count", type=int, default=0)
    command.add_argument("--idle-ms", type=int, default=0)
    command.add_argument("--timeout-ms", type=int, default=60_000)
    command.add_argument("--session-ms", type=int, default=6_000)
    command.add_argument("--metadata-ms", type=int, default=500)
    command.add_argument("--zookeeper")


def _add_drain(command: argparse.ArgumentParser) -> None:
    command.add_argument("--partitions", type=int, default=1)
    command.add_argument("--count", type=int, default=10)
    command.add_argument("--timeout-ms", type=int, default=30_000)


_COMMANDS = {
    "produce": _add_produce,
    "consume": _add_consume,
    "drain": _add_drain,
    "group": _add_group,
    "transact": _add_transact,
    "transform": _add_transform,
}


def timestamp_at(options: argparse.Namespace, index: int) -> int | None:
    """The record's timestamp in ms, or None for the client's clock."""
    return None if options.timestamp < 0 else options.timestamp + index


def read(
    options: argparse.Namespace, poll: Callable[[int], Iterable[Received]]
) -> Iterator[Received]:
    """What `poll` returns, asked for so many at most, until `consume` has its count or no time."""
    deadline, left = time.monotonic() + options.timeout_ms / 1000, options.count
    while left > 0 and time.monotonic() < deadline:
        for received in poll(left):
            left -= 1
            yield received


def main(client: Client) -> None:
    """Run what the command line asks for."""
    arguments, control = sys.argv[1:], Control()
    is_batch = arguments[:1] == ["batch"]
    control.start(end_of_input_leaves=is_batch)
    if not is_batch:
        _run(client, arguments, control)
        return
    while (line := control.next_line()) is not None:
        _run(client, line.split(), control)


def _run(client: Client, arguments: Sequence[str], control: Control) -> None:
    try:
        options = parser().parse_args(arguments)
        if options.command == "produce":
            client.produce(options)
        elif options.command == "consume":
            for received in client.consume(options):
                emit_record(received)
        elif options.command == "drain":
            for received in client.drain(options):
                emit_drained(received)
        elif options.command == "group":
            run_member(client.member(options), options, control)
        elif options.command == "transact":
            run_transactor(client.transactor(options), control)
        else:
            run_transformer(client.transformer(options), options)
    except Exception as error:
        emit("error", message=f"{type(error).__name__}: {error}")
    else:
        emit("done")
