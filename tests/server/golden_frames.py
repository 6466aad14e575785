"""The frames that clients exchanged with Apache Kafka, decoded; from the shared data, if any.

One line of `golden/wire/frames.jsonl` is a request and what Kafka answered, or None where it
closed the connection.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.server.handlers import HANDLERS
from barnabas.wire.api import ApiKey, request_class, response_class
from barnabas.wire.header import parse_request_header, parse_response_header
from barnabas.wire.schema import Message

FRAMES = Path(__file__).resolve().parents[3] / "shared" / "golden" / "wire" / "frames.jsonl"


class Frame(NamedTuple):
    """One request and its answer."""

    line: int
    release: str  # of the Kafka that answered: 3.9.1 or 4.3.1
    client: str
    key: ApiKey
    version: int
    request: bytes
    response: bytes | None

    @property
    def name(self) -> str:
        """How a test about it is called."""
        return f"{self.line}-{self.release}-{self.key.name.lower()}-v{self.version}-{self.client}"

    def message(self) -> Any:
        """The request, decoded anew."""
        _, start = parse_request_header(memoryview(self.request))
        return request_class(self.key).at(self.version).parse(memoryview(self.request), start)

    def answer(self) -> Message | None:
        """What Kafka answered, decoded."""
        if self.response is None:
            return None
        _, _, start = parse_response_header(memoryview(self.response), self.key, self.version)
        bound = response_class(self.key).at(self.version)
        return bound.parse(memoryview(self.response), start)


def served_frames() -> list[Frame]:
    """The frames of APIs that are served here; none without the shared data."""
    if not FRAMES.exists():
        return []
    frames = []
    for number, line in enumerate(FRAMES.read_text().splitlines(), 1):
        frame = _frame(number, json.loads(line))
        known = frame.version in request_class(frame.key).VERSIONS
        if known and frame.key in HANDLERS:
            frames.append(frame)
    return frames


def _frame(number: int, row: dict[str, Any]) -> Frame:
    response = row["response"]
    return Frame(
        number,
        row["broker"].split()[0],
        row["client"].replace(" ", "-"),
        ApiKey(row["api_key"]),
        row["version"],
        bytes.fromhex(row["request"]),
        None if response is None else bytes.fromhex(response),
    )
