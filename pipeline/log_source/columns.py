"""The columns of Spark's rows, as Arrow arrays, from the arrays of `records`.

Keys and values are copied once, by Arrow: of the buffer that holds them among other bytes, an array
is made that takes turns between what is wanted and what is not, and every other element is taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

from barnabas.pipeline.log_source.arrays import Numbers
from barnabas.pipeline.log_source.header_lists import NO_LISTS, header_lists
from barnabas.pipeline.log_source.records import Batch, Records
from barnabas.storage.batch.header import MAGIC_V0
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.errors import CorruptBatch

pa: Any = import_module("pyarrow")  # it says nothing of its types

_US_OF_A_MS: Final = 1000
_LARGEST_MS: Final = ((1 << 63) - 1) // _US_OF_A_MS
_NO_TIMESTAMP_TYPE: Final = -1


@dataclass(frozen=True)
class Place:
    """Where records come from: the columns that are the same for all of them."""

    topic_partition: TopicPartition
    segment_path: str


def record_batch(records: Records, place: Place, schema: Any) -> Any:
    """A RecordBatch with the columns that the schema names; CorruptBatch for what has no place."""
    columns = [_COLUMNS[field.name](records, place, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _key(records: Records, place: Place, kind: Any) -> Any:
    return _gathered(records.data, records.key_positions, records.key_lengths)


def _value(records: Records, place: Place, kind: Any) -> Any:
    return _gathered(records.data, records.value_positions, records.value_lengths)


def _gathered(data: bytes, positions: Numbers, lengths: Numbers) -> Any:
    """The bytes at the positions, which rise, as a binary array; negative lengths are nulls."""
    count = len(positions)
    present = lengths >= 0
    null_count = count - int(np.count_nonzero(present))
    if null_count == count:
        return pa.nulls(count, pa.binary())
    turns = np.empty(2 * count + 1, np.int32)
    turns[:-1:2] = positions
    turns[1::2] = positions + np.maximum(lengths, 0)
    turns[-1] = turns[-2]
    both = pa.Array.from_buffers(
        pa.binary(), 2 * count, [None, pa.py_buffer(turns), pa.py_buffer(data)]
    )
    taken = both.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))
    if not null_count:
        return taken
    valid = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), count, [valid, *taken.buffers()[1:]], null_count)


def _topic(records: Records, place: Place, kind: Any) -> Any:
    return pa.repeat(pa.scalar(place.topic_partition.topic, kind), len(records))


def _partition(records: Records, place: Place, kind: Any) -> Any:
    return pa.array(np.full(len(records), place.topic_partition.partition, np.int32))


def _offset(records: Records, place: Place, kind: Any) -> Any:
    return pa.array(records.offsets)


def _timestamp(records: Records, place: Place, kind: Any) -> Any:
    times = records.timestamps
    if times.max(initial=0) > _LARGEST_MS or times.min(initial=0) < -_LARGEST_MS:
        raise CorruptBatch("a record's timestamp does not fit Spark's")
    return pa.array(times * _US_OF_A_MS).view(kind)


def _timestamp_type(records: Records, place: Place, kind: Any) -> Any:
    return _of_batches(records, lambda batch: _type_of(batch), np.int32)


def _type_of(batch: Batch) -> int:
    """0 when the record was made, 1 when it was appended, -1 in format 0, which has no time."""
    if batch.header.magic == MAGIC_V0:
        return _NO_TIMESTAMP_TYPE
    return int(batch.header.is_log_append_time)


def _of_batches(records: Records, value_of: Callable[[Batch], int], kind: Any) -> Any:
    values = np.array([value_of(batch) for batch in records.batches], kind)
    return pa.array(values[records.batch_numbers])


def _headers(records: Records, place: Place, kind: Any) -> Any:
    if records.header_positions is None or records.ends is None:
        return pa.nulls(len(records), kind)
    lists = header_lists(records.data, records.header_positions, records.ends)
    if lists is NO_LISTS:
        return pa.nulls(len(records), kind)
    keys = _gathered(records.data, lists.key_positions, lists.key_lengths)
    values = _gathered(records.data, lists.value_positions, lists.value_lengths)
    pair = kind.value_type
    entries = pa.StructArray.from_arrays([_text(keys), values], fields=list(pair))
    offsets = np.zeros(len(records) + 1, np.int32)
    np.cumsum(lists.counts, out=offsets[1:])
    valid = pa.py_buffer(np.packbits(lists.counts > 0, bitorder="little"))
    return pa.Array.from_buffers(
        kind, len(records), [valid, pa.py_buffer(offsets)], children=[entries]
    )


def _text(keys: Any) -> Any:
    """As Java reads them: what is no UTF-8 becomes U+FFFD."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


def _control_type(records: Records, place: Place, kind: Any) -> Any:
    names = pa.array([batch.control for batch in records.batches], kind)
    return names.take(pa.array(records.batch_numbers))


def _leader_epoch(records: Records, place: Place, kind: Any) -> Any:
    return _of_batches(records, lambda batch: batch.header.partition_leader_epoch, np.int32)


def _batch_position(records: Records, place: Place, kind: Any) -> Any:
    return _of_batches(records, lambda batch: batch.position, np.int64)


def _segment(records: Records, place: Place, kind: Any) -> Any:
    return pa.repeat(pa.scalar(place.segment_path, kind), len(records))


Column = Callable[[Records, Place, Any], Any]
_COLUMNS: Final[dict[str, Column]] = {
    "key": _key,
    "value": _value,
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
    "timestampType": _timestamp_type,
    "headers": _headers,
    "controlType": _control_type,
    "leaderEpoch": _leader_epoch,
    "segment": _segment,
    "batchPosition": _batch_position,
}


def column_names() -> Sequence[str]:
    """Every column there can be."""
    return tuple(_COLUMNS)
