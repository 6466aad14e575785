"""What a log's owner is told of: `LogListener`."""

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

try:
    from mypy_extensions import mypyc_attr
except ImportError:  # which only those who compile have need of

    def mypyc_attr(*attrs: str, **kwattrs: object) -> Callable[[_T], _T]:
        """Nothing where nothing is compiled."""
        return lambda cls: cls


@mypyc_attr(allow_interpreted_subclasses=True)
class LogListener:
    """Told what somebody outside the log may have to act on; this one lets it pass.

    Whoever owns the log derives from it, compiled or not. No method may touch the log.
    """

    __slots__ = ()

    def rolled(self) -> None:
        """A segment was closed; it is to be flushed some time."""

    def set_aside(self) -> None:
        """Files are about to be renamed to `.deleted`: they are to be unlinked some time."""

    def deletion_clock_ms(self, now_ms: int) -> int:
        """The time now by the clock that tells when files set aside are due."""
        return now_ms

    def truncating(self, offset: int, base_offset: int) -> None:
        """Nothing is cut yet: whoever has noted offsets above `offset` takes them back.

        `base_offset` is that of the segment which holds it. Raises OSError.
        """

    def emptied(self) -> None:
        """Every record was dropped."""

    def failed(self, error: OSError) -> None:
        """The disk has failed under the log; raises nothing but a StorageError."""
