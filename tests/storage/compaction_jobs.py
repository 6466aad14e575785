"""Small logs of keyed records on disk, and the jobs to compact them."""

from collections.abc import Sequence
from pathlib import Path

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record, decode_all
from barnabas.storage.compaction.job import CompactedGroup, CompactionJob, SourceSegment
from barnabas.storage.log_config import LogConfig

KeyAndValue = tuple[bytes | None, bytes | None]


def write_segment(
    directory: Path, base_offset: int, batches: Sequence[Sequence[KeyAndValue]], codec: int = 0
) -> SourceSegment:
    """Write a closed segment of these batches."""
    offset = base_offset
    data = bytearray()
    for batch in batches:
        records = [
            Record(offset + number, 1000 * (offset + number), key, value)
            for number, (key, value) in enumerate(batch)
        ]
        data += build_batch(records, codec=codec)
        offset += len(records)
    (directory / f"{base_offset:020}.log").write_bytes(data)
    return SourceSegment(base_offset, offset, len(data))


def job_for(
    directory: Path, segments: Sequence[SourceSegment], config: LogConfig | None = None
) -> CompactionJob:
    """Compact all of these segments."""
    return CompactionJob(
        topic_partition="orders-0",
        directory=str(directory),
        config=config or LogConfig(cleanup_policy=("compact",)),
        segments=segments,
        first_dirty_offset=segments[0].base_offset,
        high_watermark=segments[-1].next_offset + 1,
        now_ms=2_000_000_000_000,
    )


def swap_in(
    directory: Path,
    groups: Sequence[CompactedGroup],
    sources: Sequence[SourceSegment] = (),
) -> list[SourceSegment]:
    """Put finished groups in place, as the log does; the closed segments there are then."""
    left = {source.base_offset: source for source in sources}
    for group in groups:
        for source in group.replaced:
            left.pop(source.base_offset, None)
            for path in directory.glob(f"{source.base_offset:020}.*"):
                if path.suffix not in (".cleaned", ".snapshot"):
                    path.unlink()
        for path in directory.glob(f"{group.base_offset:020}.*.cleaned"):
            path.rename(path.with_suffix(""))
        left[group.base_offset] = SourceSegment(
            group.base_offset, group.replaced[-1].next_offset, group.size_bytes
        )
    return sorted(left.values(), key=lambda source: source.base_offset)


def read_back(directory: Path) -> list[Record]:
    """Every record of a log, in the order of its segments."""
    return [
        record
        for path in sorted(directory.glob("*.log"))
        for record in decode_all(path.read_bytes())
    ]
