"""Names of the files in a partition's directory.

    <20 digits of the base offset><extension><suffix>

The suffix tells of files that are on their way in or out of the log.
"""

from functools import lru_cache
from typing import Final

LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX = ".log", ".index", ".timeindex", ".txnindex"
SEGMENT_EXTENSIONS: Final = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED: Final = ".deleted"
"""Behind the name of a file that is no longer part of the log and will be unlinked."""
CLEANED: Final = ".cleaned"
"""Behind the names of a segment that a compaction is writing."""
SWAP: Final = ".swap"
"""Behind the names of a finished one that takes the place of others."""
UNFINISHED: Final = (DELETED, CLEANED, SWAP)

_MAX_BASE_OFFSET: Final = 0x7FFFFFFFFFFFFFFF
_DIGITS: Final = 20


def segment_path(directory: str, base_offset: int, extension: str, suffix: str = "") -> str:
    """Path of one of a segment's files; `suffix` is "", CLEANED, SWAP or DELETED."""
    return f"{directory}/{base_offset:020d}{extension}{suffix}"


@lru_cache(4096)  # thousands of partitions have the same names in them
def base_offset_of(name: str) -> int | None:
    """The offset that the name of a log's file begins with, None if it is another's file.

    Twenty digits and a dot: `00000000000000000042.log`, `….snapshot`, `….index.swap`.
    """
    digits = name[:_DIGITS]
    if len(digits) < _DIGITS or name[_DIGITS : _DIGITS + 1] != ".":
        return None
    if not (digits.isascii() and digits.isdigit()):
        return None
    offset = int(digits)
    return offset if offset <= _MAX_BASE_OFFSET else None


def is_leaving(name: str) -> bool:
    """Whether a file is what a compaction has written and not put in place."""
    return name.endswith((CLEANED, SWAP)) and base_offset_of(name) is not None
