"""The client of Bridge.java: Kafka's own classes turn JSON to bytes and bytes to JSON.

A batch of requests goes down the pipe from a thread while the answers are read, so that
neither side waits for the other with a full pipe.
"""

from __future__ import annotations

import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from oracles import java_command, require_oracle, running

SOURCE = Path(__file__).with_name("Bridge.java")


class Refused(NamedTuple):
    """Kafka's classes would not take it; the reason is the exception's text."""

    reason: str


class Encode(NamedTuple):
    """Ask for the bytes of a message given as JSON text."""

    message: str
    version: int
    json: str

    def line(self) -> bytes:
        return f"encode\t{self.message}\t{self.version}\t{self.json}\n".encode()


class Decode(NamedTuple):
    """Ask for the JSON text of a message given as bytes."""

    message: str
    version: int
    data: bytes

    def line(self) -> bytes:
        text = b64encode(self.data).decode()
        return f"decode\t{self.message}\t{self.version}\t{text}\n".encode()


@dataclass(frozen=True, slots=True)
class Bridge:
    """One JVM with the classes of one release."""

    requests: IO[bytes]
    answers: IO[bytes]

    def ask(self, batch: Sequence[Encode | Decode]) -> list[bytes | str | Refused]:
        """Answer a batch in order: bytes for Encode, JSON text for Decode, or Refused."""
        writer = threading.Thread(target=self._send, args=(batch,))
        writer.start()
        try:
            return [self._answer(each) for each in batch]
        finally:
            writer.join()

    def _send(self, batch: Sequence[Encode | Decode]) -> None:
        self.requests.writelines(each.line() for each in batch)
        self.requests.flush()

    def _answer(self, request: Encode | Decode) -> bytes | str | Refused:
        line = self.answers.readline()
        if not line:
            raise EOFError("the bridge to Kafka's classes ended")
        text = line[1:-1].decode()
        if line[:1] == b"-":
            return Refused(text)
        return b64decode(text) if isinstance(request, Encode) else text


@contextmanager
def bridge(release: str) -> Iterator[Bridge]:
    """Start the JVM of a release ("4.4.0"); it has ended on the way out."""
    jars = require_oracle(f"jars-{release}")
    with running(java_command(jars, str(SOURCE))) as process:
        assert process.stdin is not None and process.stdout is not None
        yield Bridge(process.stdin, process.stdout)
