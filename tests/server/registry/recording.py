"""A store that writes down what is asked of it, in the words of the golden traffic."""

from collections.abc import Iterator, Sequence
from typing import Any

from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import (
    Check,
    Create,
    Delete,
    Op,
    Result,
    SetData,
    ZnodeError,
)
from tests.server.registry import golden
from tests.server.registry.worlds import FIRST_MS

Written = tuple[Any, ...]


class RecordingStore(EmbeddedStore):
    """A session of an ensemble in memory that remembers every write it sent."""

    def __init__(self) -> None:
        super().__init__(Ensemble(lambda: FIRST_MS), 6_000)
        self.written: list[Written] = []

    async def pipeline(
        self, transactions: Sequence[Sequence[Op]]
    ) -> list[list[Result] | ZnodeError]:
        self.written += [("multi", *map(_spelled, ops)) for ops in transactions]
        return await super().pipeline(transactions)

    async def multi(self, ops: Sequence[Op]) -> list[Result]:
        self.written.append(("multi", *map(_spelled, ops)))
        return await super().multi(ops)

    async def create(self, path: str, data: bytes | None = None, **how: bool) -> str:
        self.written.append(("create", path, (data or b"").decode()))
        return await super().create(path, data, **how)

    def take(self) -> list[Written]:
        """Return what was written since the last call."""
        taken, self.written = self.written, []
        return taken


def kafka_wrote(step: str, protocol: ProtocolVersion = (3, 9)) -> list[Written]:
    """Return the creations and transactions of a recorded step, those that were refused too."""
    return list(_writes(row for row in golden.requests(protocol) if row["step"] == step))


def _writes(rows: Iterator[dict[str, Any]]) -> Iterator[Written]:
    for row in rows:
        if row["op"] == "create" and "error" not in row:
            yield ("create", row["path"], row["data"])
        elif row["op"] == "multi":
            yield ("multi", *(tuple(op) for op in row["multi"]))


def _spelled(op: Op) -> Written:
    if isinstance(op, Create):
        return ("create", op.path, (op.data or b"").decode(), op.ephemeral + 2 * op.sequential)
    if isinstance(op, SetData):
        return ("setData", op.path, (op.data or b"").decode(), op.version)
    if isinstance(op, Check):
        return ("check", op.path, op.version)
    assert isinstance(op, Delete)
    return ("delete", op.path, op.version)
