"""What can be wrong with a log's files, and the interface of those who look for it."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from barnabas.server.cli.log_tools.files import LogFile
from barnabas.server.cli.log_tools.segment_rows import Row
from barnabas.server.cli.log_tools.text import Line
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.errors import StorageError


class Problem(NamedTuple):
    """One thing that is wrong: in which file, and where in it as far as that can be said."""

    file: str
    reason: str
    position: int | None = None
    offset: int | None = None

    def row(self) -> Row:
        """As a JSON object."""
        return {"type": "problem"} | {
            name: value for name, value in self._asdict().items() if value is not None
        }

    def line(self) -> Line:
        """As a line."""
        place = "" if self.position is None else f" at position {self.position}"
        place += "" if self.offset is None else f", offset {self.offset}"
        return Line(f"{self.file}{place}: {self.reason}", "red")


def damaged(file: LogFile, error: StorageError) -> Problem:
    """A file that cannot be read at all."""
    return Problem(file.name, f"damaged: {error.reason.removeprefix(f'{file.path}: ')}")


Problems = Iterator[Problem]


class BatchCheck(Protocol):
    """Looks at every batch of a segment in turn, and has its say at the end."""

    def see(self, position: int, header: BatchHeader, chunk: bytes) -> Problems:
        """A batch that is sound by itself."""
        ...

    def finish(self) -> Problems:
        """The segment has ended, and not in the middle of a batch."""
        ...
