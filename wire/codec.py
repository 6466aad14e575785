"""What every codec is: a `construct.Construct` that can also emit its own source.

The reference path is plain construct: `_parse` and `_build` compose over a stream and carry
a path, so that an error names its place. The compiled path asks the same object to emit
(`barnabas.wire.compiler`). A property test holds the two equal.
"""

from typing import IO, TYPE_CHECKING, Any

from construct import Construct

from barnabas.wire.compiler import MAX_ELEMENTS, BuildEmitter, ParseEmitter
from barnabas.wire.errors import ENDS_INSIDE_FIELD, Malformed, Truncated

if TYPE_CHECKING:
    Base = Construct[Any, Any]
else:
    Base = Construct

Context = Any  # construct's Container: one per parse or build, shared by all codecs


class Codec(Base):
    """A construct bound to one layout. `minimum_bytes` is the least that it can occupy."""

    minimum_bytes = 1

    @property
    def title(self) -> str:
        """What generated code is named after."""
        return type(self).__name__

    def bind(self, version: int, flexible: bool, nullable: bool) -> "Codec":
        """This kind's codec at a version; fixed-width kinds are the same at every one."""
        if nullable:
            raise TypeError(f"{self!r} has no null")
        return self

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        raise NotImplementedError

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        raise NotImplementedError

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        """Emit what reads the value; return an expression for it, good after a flush.

        The expression is `target`, a place to assign to, wherever that costs nothing.
        """
        raise NotImplementedError

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        """Emit what writes `value`, an expression without side effects."""
        raise NotImplementedError


def take(stream: IO[bytes], count: int, path: str) -> bytes:
    """Exactly `count` bytes of the stream, or Truncated."""
    data = stream.read(count)
    if len(data) < count:
        raise Truncated(ENDS_INSIDE_FIELD, path)
    return data


def remaining(stream: IO[bytes]) -> int:
    """How many bytes of the (seekable) stream are left."""
    here = stream.tell()
    end = stream.seek(0, 2)
    stream.seek(here)
    return end - here


def over_budget(most: int) -> str:
    """What is said of a frame with more array elements than it may have."""
    return f"more than {most} array elements in one frame"


def spend(context: Context, count: int, path: str) -> None:
    """Take `count` elements from the frame's budget."""
    left = context.get("budget", MAX_ELEMENTS) - count
    if left < 0:
        raise Malformed(over_budget(MAX_ELEMENTS), path)
    context["budget"] = left
