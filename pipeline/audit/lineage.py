"""From a row of the lake back: its file, the batch that landed it, and the segment that held it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.audit.raw_log import UnreadableLog
from barnabas.pipeline.audit.segment_log import BatchPlace, SegmentLog
from barnabas.pipeline.lake.entries import DEAD_LETTERS, Entry, LandedFile
from barnabas.pipeline.lake.folders import Folder, folder_at
from barnabas.pipeline.lake.lake import read_files
from barnabas.pipeline.lake.log import read_entries
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Origin:
    """Where one row comes from; the last six are None where no segment has its offset now.

    `landing_id` and `batch` are those that read the offset from the broker; `file_landing_id` and
    `file_batch` wrote the file, which a compaction of the lake may have done since.
    """

    topic: str
    topic_id: str
    partition: int
    offset: int
    file: str
    row_index: int
    file_landing_id: str
    file_batch: int
    landing_id: str | None
    batch: int | None
    cluster_id: str
    landed_at_ms: int
    segment: str | None = None
    position: int | None = None
    batch_base_offset: int | None = None
    batch_last_offset: int | None = None
    batch_bytes: int | None = None
    segment_note: str | None = None


def trace(
    spark: SparkSession,
    lake: str,
    topic: str,
    partition: int,
    offset: int,
    log_dirs: Sequence[str] = (),
) -> list[Origin]:
    """Every row of an offset, one for each incarnation of the topic; PipelineError for none."""
    folder = folder_at(spark, lake)
    entries = read_entries(folder)
    there = {path for path, _ in folder.walk()}
    found = [
        _origin(entries, entry, file, partition, offset, row_index)
        for entry, file in candidates(entries, topic, partition, offset)
        if file.path in there
        for row_index in _rows_of(spark, folder, file, partition, offset)
    ]
    if not found:
        raise PipelineError(f"{lake} has no row of {topic}-{partition} at offset {offset}")
    log = SegmentLog(log_dirs) if log_dirs else None
    return [each if log is None else _with_segment(each, log) for each in found]


def candidates(
    entries: Sequence[Entry], topic: str, partition: int, offset: int
) -> Iterator[tuple[Entry, LandedFile]]:
    """The files that may hold an offset, by what their entries say, with these entries."""
    removed = {path for entry in entries for path in entry.removed}
    for entry in entries:
        for file in entry.added:
            held = file.offsets.get(partition)
            if file.path in removed or file.topic != topic or held is None:
                continue
            if held.first <= offset <= held.last:
                yield entry, file


def _origin(
    entries: Sequence[Entry],
    entry: Entry,
    file: LandedFile,
    partition: int,
    offset: int,
    row_index: int,
) -> Origin:
    read_by = reader_of(entries, file, partition, offset)
    return Origin(
        topic=file.topic,
        topic_id=file.topic_id or "",
        partition=partition,
        offset=offset,
        file=file.path,
        row_index=row_index,
        file_landing_id=entry.landing_id,
        file_batch=entry.batch,
        landing_id=read_by.landing_id if read_by else None,
        batch=read_by.batch if read_by else None,
        cluster_id=(read_by or entry).cluster_id,
        landed_at_ms=(read_by or entry).landed_at_ms,
    )


def reader_of(
    entries: Sequence[Entry], file: LandedFile, partition: int, offset: int
) -> Entry | None:
    """The entry of the batch that read an offset of the file's topic from the broker."""
    for entry in entries:
        if entry.topic_ids.get(file.topic) != file.topic_id:
            continue
        read = entry.offsets.get(file.topic, {}).get(partition)
        if read is not None and read[0] <= offset < read[1]:
            return entry
    return None


def _rows_of(
    spark: SparkSession, folder: Folder, file: LandedFile, partition: int, offset: int
) -> list[int]:
    from pyspark.sql import functions as f

    found = read_files(spark, folder, [file], DEAD_LETTERS if file.is_dead_letters else "")
    rows = found.where((f.col("partition") == partition) & (f.col("offset") == offset))
    return [row[0] for row in rows.select("_metadata.row_index").collect()]


def _with_segment(origin: Origin, log: SegmentLog) -> Origin:
    from dataclasses import replace

    try:
        place = _place_of(log, origin)
    except UnreadableLog as error:
        return replace(origin, segment_note=str(error))
    if place is None:
        return replace(origin, segment_note="no segment has this offset any more")
    return replace(
        origin,
        segment=place.path,
        position=place.position,
        batch_base_offset=place.header.base_offset,
        batch_last_offset=place.header.last_offset,
        batch_bytes=place.header.size_bytes,
    )


def _place_of(log: SegmentLog, origin: Origin) -> BatchPlace | None:
    places = log.places(origin.topic, origin.topic_id, origin.partition, origin.offset)
    place = next(places, None)
    if place is None or place.header.base_offset > origin.offset:
        # A format before 2 names only the last offset of a batch, and needs no such check.
        return place if place is not None and place.header.magic < 2 else None
    return place


def as_lines(origin: Origin) -> Iterator[str]:
    """The way back for people, from the row to the segment file."""
    from datetime import UTC, datetime

    landed = datetime.fromtimestamp(origin.landed_at_ms / 1000, UTC)
    topic_id = f" (topic id {origin.topic_id})" if origin.topic_id else ""
    yield f"{origin.topic}-{origin.partition} offset {origin.offset}{topic_id}"
    yield f"  row       {origin.row_index} of {origin.file}"
    if origin.landing_id is not None:
        yield f"  landed    by batch {origin.batch} of landing {origin.landing_id}"
    if (origin.file_landing_id, origin.file_batch) != (origin.landing_id, origin.batch):
        yield f"  written   by batch {origin.file_batch} of {origin.file_landing_id}"
    yield f"  from      cluster {origin.cluster_id}, {landed:%Y-%m-%d %H:%M:%S} UTC"
    if origin.segment is not None:
        yield (
            f"  segment   {origin.segment} at byte {origin.position:,}: offsets "
            f"{origin.batch_base_offset}-{origin.batch_last_offset}, {origin.batch_bytes:,} bytes"
        )
    elif origin.segment_note is not None:
        yield f"  segment   {origin.segment_note}"
