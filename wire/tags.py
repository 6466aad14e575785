"""Tagged fields (KIP-482): count, then (tag, size, bytes) in ascending order of tag.

A field whose value is its default is not written. Tags nobody here knows are kept, in
order, and written back.
"""

from collections.abc import Sequence

from barnabas.wire.compiler import MAX_TAGS
from barnabas.wire.errors import ENDS_INSIDE_FIELD, Malformed, Truncated
from barnabas.wire.varint import read_uvarint, write_uvarint

RawTag = tuple[int, bytes]
ORDER = "tags out of order"
SIZE = "a tagged field that does not fill its size"
MANY = "more than 10000 tagged fields"


def read_tag_head(buf: memoryview, pos: int, last: int) -> tuple[int, int, int]:
    """The next tag, the position of its bytes and the position behind them."""
    tag, pos = read_uvarint(buf, pos)
    size, pos = read_uvarint(buf, pos)
    if tag <= last:
        raise Malformed(ORDER)
    if pos + size > len(buf):
        raise Truncated(ENDS_INSIDE_FIELD)
    return tag, pos, pos + size


def skip_tags(buf: memoryview, pos: int) -> tuple[tuple[RawTag, ...], int]:
    """All tags at `pos`, none of them known, and the position behind them."""
    count, pos = read_uvarint(buf, pos)
    if count > MAX_TAGS:
        raise Malformed(MANY)
    tags: list[RawTag] = []
    last = -1
    for _ in range(count):
        last, pos, stop = read_tag_head(buf, pos, last)
        tags.append((last, bytes(buf[pos:stop])))
        pos = stop
    return tuple(tags), pos


def write_tags(out: bytearray, tags: Sequence[tuple[int, bytes | bytearray]]) -> None:
    """Append the tagged fields, in ascending order of tag."""
    write_uvarint(out, len(tags))
    for tag, data in sorted(tags, key=lambda item: item[0]):
        write_uvarint(out, tag)
        write_uvarint(out, len(data))
        out += data
