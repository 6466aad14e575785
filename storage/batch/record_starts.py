"""Where the records of a format 2 batch begin, and nothing else of them.

Each record's length has to be known before the next one is found: that is the one part of reading
records that cannot be done to many of them at once. Whoever has arrays for the rest
(`barnabas.pipeline.log_source.records`) needs this loop and no more of Python per record.
"""

from typing import TYPE_CHECKING

from barnabas.storage.batch.varint import read_varint
from barnabas.storage.errors import CorruptBatch

if TYPE_CHECKING:
    from array import array

    from mypy_extensions import i64


def add_record_starts(
    starts: "array[int]", data: bytes, position: int, end: int, count: int
) -> None:
    """Append the positions of the `count` records that fill [position, end) of the plain `data`.

    `starts` is of type "q"; a position is that of the record's length. Raises CorruptBatch
    unless the records fill the stretch; what is in them is not looked at.
    """
    at: i64 = position
    last: i64 = end
    add = starts.append
    try:
        for _index in range(count):  # mypyc would box a number called _
            add(at)
            low: i64 = data[at]
            if low < 0x80:
                length: i64 = low
                at += 1
            else:
                high: i64 = data[at + 1]
                if high < 0x80:
                    length = low & 0x7F | high << 7
                    at += 2
                else:
                    signed, behind = read_varint(data, at)
                    length = signed * 2
                    at = behind
            if length & 1 or length < 0:
                raise CorruptBatch("a record has a negative length")
            at += length >> 1
    except IndexError:
        raise CorruptBatch("a record runs past the end of its batch") from None
    if at != last:
        raise CorruptBatch("a batch's length and its records do not agree")
