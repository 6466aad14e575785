"""The records of many batches as arrays: where each key and value lies, and its numbers.

Batches of format 2 that are not compressed are read where they lie in the chunk of the file;
those that are, from their plain bytes, one batch behind the other. Python is run per batch. Per
record there is the loop that finds where the next one begins (`record_starts`), and NumPy.
Formats 0 and 1 are read record by record.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from barnabas.pipeline.log_source.arrays import (
    INT64_SHIFT,
    Bytes,
    Mask,
    Numbers,
    after,
    read_varints,
)
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.record_starts import add_record_starts
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import CorruptBatch


@dataclass(frozen=True)
class Batch:
    """A batch in a segment: where, its header, and what its control records say, if it has any."""

    position: int
    header: BatchHeader
    control: str | None = None


@dataclass(frozen=True)
class Records:
    """Arrays as long as there are records; positions count in `data`, a null's length is -1.

    `header_positions` to `ends` lies the list of a record's headers (None: formats without).
    `batch_numbers` tells which of `batches` a record is of.
    """

    data: bytes
    batches: Sequence[Batch]
    batch_numbers: Numbers
    offsets: Numbers
    timestamps: Numbers
    key_positions: Numbers
    key_lengths: Numbers
    value_positions: Numbers
    value_lengths: Numbers
    header_positions: Numbers | None
    ends: Numbers | None

    def only(self, wanted: Mask) -> "Records":
        """The records for which the mask is true."""

        def chosen(numbers: Numbers | None) -> Numbers | None:
            return None if numbers is None else numbers[wanted]

        return Records(
            self.data, self.batches, self.batch_numbers[wanted], self.offsets[wanted],
            self.timestamps[wanted], self.key_positions[wanted], self.key_lengths[wanted],
            self.value_positions[wanted], self.value_lengths[wanted],
            chosen(self.header_positions), chosen(self.ends),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.offsets)


class BatchGroup:
    """Batches of format 2 whose plain records lie in one buffer: a chunk of a file, or several
    decompressed batches that are put together."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.size_bytes = 0
        self._starts = array("q")
        self._counts: list[int] = []
        self._shifts: list[int] = []
        self._stretches: list[tuple[bytes, int, int]] = []
        self._parts: list[bytes] = []

    def __len__(self) -> int:
        return len(self.batches)

    @property
    def is_of_chunk(self) -> bool:
        """Whether the batches so far lie in a chunk, among other bytes."""
        return bool(self._parts) and self._stretches[0][1] > 0

    def lies_in(self, data: bytes) -> bool:
        """Whether the batches so far are of this very chunk."""
        return len(self._parts) == 1 and self._parts[0] is data

    def add(self, batch: Batch, data: bytes, start: int, end: int) -> None:
        """Raises CorruptBatch unless the batch's records fill [start, end) of the data."""
        before = len(self._starts)
        try:
            add_record_starts(self._starts, data, start, end, batch.header.record_count)
        except CorruptBatch:
            del self._starts[before:]
            raise
        if not self.lies_in(data):
            self._parts.append(data)
            self.size_bytes += len(data)
        self.batches.append(batch)
        self._counts.append(batch.header.record_count)
        self._shifts.append(self.size_bytes - len(data))
        self._stretches.append((data, start, end))

    def one_by_one(self) -> Iterator["BatchGroup"]:
        """The same batches, each in a group of its own, to find the one that is malformed."""
        for batch, stretch in zip(self.batches, self._stretches, strict=True):
            alone = BatchGroup()
            alone.add(batch, *stretch)
            yield alone

    def records(self) -> Records:
        """All of them; CorruptBatch if any is malformed."""
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        octets: Bytes = np.frombuffer(data, np.uint8)
        numbers = np.repeat(np.arange(len(self.batches)), self._counts)
        starts = np.frombuffer(self._starts, np.int64) + self._of_batches(self._shifts)[numbers]
        try:
            lengths, position = read_varints(octets, starts)
            ends = position + lengths
            time_deltas, position = read_varints(octets, position + 1, INT64_SHIFT)
            offset_deltas, position = read_varints(octets, position)
            key_lengths, keys = read_varints(octets, position)
            value_lengths, values = read_varints(octets, after(keys, key_lengths))
        except IndexError:
            raise CorruptBatch("a record runs past the end of its batch") from None
        headers = after(values, value_lengths)
        if np.any(headers >= ends):
            raise CorruptBatch("a record's length and its contents do not agree")
        last = self._of_batches([each.header.last_offset_delta for each in self.batches])[numbers]
        if np.any(offset_deltas < 0) or np.any(offset_deltas > last):
            raise CorruptBatch("a record's offset is outside of its batch's")
        offsets = self._of_batches([each.header.base_offset for each in self.batches])[numbers]
        timestamps = self._timestamps(numbers, time_deltas)
        return Records(
            data, self.batches, numbers, offsets + offset_deltas, timestamps, keys, key_lengths,
            values, value_lengths, headers, ends,
        )  # fmt: skip

    def _of_batches(self, values: list[int]) -> Numbers:
        return np.array(values, np.int64)

    def _timestamps(self, numbers: Numbers, deltas: Numbers) -> Numbers:
        """In a LogAppendTime batch every record has the batch's largest timestamp."""
        headers = [each.header for each in self.batches]
        bases = self._of_batches([each.base_timestamp for each in headers])[numbers]
        timestamps: Numbers = bases + deltas
        if np.any(((bases ^ timestamps) & (deltas ^ timestamps)) < 0):
            raise CorruptBatch("a record's timestamp does not fit 64 bits")
        if any(each.is_log_append_time for each in headers):
            largest = self._of_batches([each.max_timestamp for each in headers])[numbers]
            append_time = np.array([each.is_log_append_time for each in headers])[numbers]
            timestamps = np.where(append_time, largest, timestamps)
        return timestamps


def records_of(batch: Batch, decoded: Sequence[Record]) -> Records:
    """Records that were decoded one by one (formats 0 and 1, which have no headers)."""
    parts: list[bytes] = []
    lengths: list[int] = []
    for record in decoded:
        for part in (record.key, record.value):
            parts.append(part or b"")
            lengths.append(-1 if part is None else len(part))
    sizes = np.array(lengths, np.int64)
    positions = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(np.maximum(sizes, 0), out=positions[1:])
    return Records(
        b"".join(parts), [batch], np.zeros(len(decoded), np.int64),
        np.array([record.offset for record in decoded], np.int64),
        np.array([record.timestamp for record in decoded], np.int64),
        positions[:-1:2], sizes[::2], positions[1:-1:2], sizes[1::2], None, None,
    )  # fmt: skip
