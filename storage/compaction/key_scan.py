"""Keys of a batch's records, found without looking at anything else or building records.

Compaction reads every record of a log twice; this loop is where it spends its time, so the
varints (`records` states the layout) are read inline. The data has passed its CRC: a wrong
length can only come from a producer, never crosses the batch, and is CorruptBatch.
"""

from typing import NamedTuple

from barnabas.storage.batch.varint import finish_varint
from barnabas.storage.errors import CorruptBatch


class ScannedRecords(NamedTuple):
    """Of each record: key (None is null), offset delta, where its timestamp delta stands in the
    data, and where it ends.

    `tombstones` are the numbers of those whose value is null.
    """

    keys: list[bytes | None]
    deltas: list[int]
    times: list[int]
    ends: list[int]
    tombstones: list[int]


def scan_records(data: bytes, position: int, end_of_data: int, count: int) -> ScannedRecords:
    """Look through the `count` records that fill `data` from `position` to `end_of_data`."""
    keys: list[bytes | None] = []
    deltas: list[int] = []
    times: list[int] = []
    ends: list[int] = []
    tombstones: list[int] = []
    add_key, add_delta, add_time, add_end = keys.append, deltas.append, times.append, ends.append
    try:
        for number in range(count):
            byte = data[position]
            position += 1
            if byte < 0x80:
                end = position + (byte >> 1)
            elif (high := data[position]) < 0x80:
                position += 1
                end = position + ((byte & 0x7F | high << 7) >> 1)
            else:
                length, position = finish_varint(data, position, byte)
                end = position + length
            position += 1
            add_time(position)
            while data[position] >= 0x80:
                position += 1
            byte = data[position + 1]
            position += 2
            if byte < 0x80:
                add_delta(byte >> 1)
            elif (high := data[position]) < 0x80:
                position += 1
                add_delta((byte & 0x7F | high << 7) >> 1)
            else:
                delta, position = finish_varint(data, position, byte)
                add_delta(delta)
            length = data[position]
            position += 1
            if length == 1:
                add_key(None)
            else:
                if length < 0x80:
                    length >>= 1
                else:
                    length, position = finish_varint(data, position, length)
                key_position = position
                position += length
                add_key(data[key_position:position])
            if data[position] == 1:
                tombstones.append(number)
            if position + 1 >= end:
                raise CorruptBatch("a record's length and its contents do not agree")
            add_end(end)
            position = end
    except IndexError:
        raise CorruptBatch("a record runs past the end of its batch") from None
    if position != end_of_data:
        raise CorruptBatch("a batch's records do not fill it")
    return ScannedRecords(keys, deltas, times, ends, tombstones)
