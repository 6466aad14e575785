"""What Spark's own checkpoint says of a batch: the offsets that it begins and ends with.

Spark writes `offsets/<batch id>` before the batch is run, so that the file is there when
foreachBatch is called, and the same again when a batch is repeated after a kill. Its last line
is the source's: topic -> partition -> end. The offsets that the first batch begins with are in
`sources/0/0`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from barnabas.pipeline.lake.folders import Folder

TopicPartition = tuple[str, int]
BatchRanges = dict[TopicPartition, tuple[int, int]]


def source_offsets(text: str) -> dict[TopicPartition, int]:
    """The source's offsets in a file of the checkpoint; ValueError where there are none."""
    line = text.strip().rsplit("\n", 1)[-1]
    found = json.loads(line[line.index("{") :])
    return {
        (topic, int(partition)): int(offset)
        for topic, by_partition in found.items()
        for partition, offset in by_partition.items()
    }


def ranges_between(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> BatchRanges:
    """By partition [start, end) of what a batch reads; those with nothing to read are left out.

    A partition that was not there before is read from offset 0: where its log begins later
    Spark's source has ended with what was lost.
    """
    ranges = {place: (start.get(place, 0), offset) for place, offset in sorted(end.items())}
    return {place: found for place, found in ranges.items() if found[0] < found[1]}


def batch_ranges(checkpoint: Folder, batch_id: int) -> BatchRanges:
    """By partition [start, end) of what a batch that has been planned reads."""
    before = f"offsets/{batch_id - 1}" if batch_id else "sources/0/0"
    return ranges_between(
        source_offsets(checkpoint.read(before)),
        source_offsets(checkpoint.read(f"offsets/{batch_id}")),
    )


def last_committed(checkpoint: Folder) -> int:
    """The last batch that Spark takes for done, -1 before the first."""
    return max(_batch_ids(checkpoint, "commits"), default=-1)


def _batch_ids(checkpoint: Folder, kind: str) -> list[int]:
    return [int(name) for name in checkpoint.names(kind) if name.isdigit()]


def offsets_done(checkpoint: Folder) -> dict[TopicPartition, int]:
    """Up to where Spark takes the partitions it knows for done; nothing before its first look."""
    return _offsets_at(checkpoint, last_committed(checkpoint))


def offsets_planned(checkpoint: Folder) -> dict[TopicPartition, int]:
    """Up to where Spark has planned to read, in the batch that it would repeat as well."""
    return _offsets_at(checkpoint, max(_batch_ids(checkpoint, "offsets"), default=-1))


def _offsets_at(checkpoint: Folder, batch_id: int) -> dict[TopicPartition, int]:
    path = f"offsets/{batch_id}" if batch_id >= 0 else "sources/0/0"
    return source_offsets(checkpoint.read(path)) if checkpoint.exists(path) else {}
