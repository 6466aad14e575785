"""Are the replicas of one partition the same? Byte by byte, up to the lowest log end."""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from barnabas.server.cli.log_tools.files import LogFile
from barnabas.server.cli.log_tools.replica import Replica, StoredBatch
from barnabas.server.cli.log_tools.segment_rows import Row
from barnabas.server.cli.log_tools.text import Line
from barnabas.storage.directory_names import TopicPartition

BLOCK_BYTES = 1 << 20
SEGMENTS, BATCHES = "segments", "batches"
_SAID = (
    "base_offset", "last_offset", "size_bytes", "partition_leader_epoch", "magic",
    "producer_id", "producer_epoch", "base_sequence", "record_count", "attributes",
    "max_timestamp", "crc",
)  # fmt: skip
"""What of two headers is told where it differs; the first two of them are enough."""


class Difference(NamedTuple):
    """The first place at which two replicas are not the same; None where it is no offset."""

    partition: TopicPartition
    offset: int | None
    directories: tuple[str, str]
    reason: str

    def row(self) -> Row:
        """As a JSON object."""
        return {
            "type": "difference",
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "offset": self.offset,
            "directories": list(self.directories),
            "reason": self.reason,
        }

    def line(self) -> Line:
        """As a line."""
        at = "" if self.offset is None else f" at offset {self.offset}"
        return Line(f"{self.partition}{at}: {self.reason}", "red")


class PartitionComparison:
    """The replicas of a partition, two or more, held against the first of them."""

    def __init__(self, partition: TopicPartition, replicas: list[Replica]) -> None:
        self.partition = partition
        self.replicas = replicas
        self.end_offset = min(replica.log_end_offset for replica in replicas)
        starts = [max(each.log_start_offset, each.compacted_to) for each in replicas]
        self.start_offset = min(max(starts), self.end_offset)
        self.same_by = SEGMENTS
        """Whether files are the same byte by byte, or batches in files that begin elsewhere."""

    def run(self) -> Iterator[Difference]:
        """The first difference of each of the others from the first. Raises OSError."""
        first, *others = self.replicas
        for other in others:
            if not self._same_segments(first, other):
                found = list(self._batches(first, other))
                if not found or self._bases(first) != self._bases(other):
                    self.same_by = BATCHES
                yield from found
            yield from self._epochs(first, other)
        for replica in self.replicas:
            if replica.damage is not None:
                reason = f"damaged in {replica.shown}: {replica.damage}"
                both = (replica.shown, replica.shown)
                yield Difference(self.partition, replica.log_end_offset, both, reason)

    # --- files -------------------------------------------------------------------------

    def _segments(self, replica: Replica) -> list[LogFile]:
        """Those that hold anything of what is compared."""
        below_end = [file for file in replica.segments if file.base_offset < self.end_offset]
        return [file for file in replica.from_offset(self.start_offset) if file in below_end]

    def _same_segments(self, first: Replica, other: Replica) -> bool:
        ours, theirs = self._segments(first), self._segments(other)
        if [file.base_offset for file in ours] != [file.base_offset for file in theirs]:
            return False
        return all(
            _same_bytes(one, two, may_end={first.segments[-1], other.segments[-1]})
            for one, two in zip(ours, theirs, strict=True)
        )

    # --- batches -----------------------------------------------------------------------

    def _compared(self, replica: Replica) -> Iterator[StoredBatch]:
        end = self.end_offset
        batches = replica.batches(self.start_offset)
        return takewhile(lambda batch: batch.header.base_offset < end, batches)

    def _batches(self, first: Replica, other: Replica) -> Iterator[Difference]:
        both = (first.shown, other.shown)
        ours, theirs = self._compared(first), self._compared(other)
        while True:
            one, two = next(ours, None), next(theirs, None)
            if one is None or two is None:
                break
            if one.data != two.data:
                offset = min(one.header.base_offset, two.header.base_offset)
                yield Difference(self.partition, offset, both, _unlike(one, two, both))
                return
        rest, without = (one, other) if two is None else (two, first)
        if rest is not None:
            reason = f"{without.shown} has no batch {_name(rest)}"
            yield Difference(self.partition, rest.header.base_offset, both, reason)

    # --- leader epochs -----------------------------------------------------------------

    def _epochs(self, first: Replica, other: Replica) -> Iterator[Difference]:
        """An epoch has one leader, so it begins at one offset wherever it is known."""
        ours, theirs = first.epochs(), other.epochs()
        for epoch in sorted(ours.keys() & theirs.keys()):
            one, two = ours[epoch], theirs[epoch]
            lowest, highest = min(one, two), max(one, two)
            if one != two and lowest > self.start_offset and highest <= self.end_offset:
                reason = f"leader epoch {epoch} begins at {one} in {first.shown}"
                reason += f", at {two} in {other.shown}"
                both = (first.shown, other.shown)
                yield Difference(self.partition, lowest, both, reason)
                return

    # --- the result --------------------------------------------------------------------

    def row(self) -> Row:
        """What was compared, as a JSON object."""
        return {
            "type": "partition",
            "topic": self.partition.topic,
            "partition": self.partition.partition,
            "start_offset": self.start_offset,
            "end_offset": self.end_offset,
            "compared": self.same_by,
            "directories": [replica.shown for replica in self.replicas],
            "log_end_offsets": [replica.log_end_offset for replica in self.replicas],
        }

    def notes(self) -> Iterator[Line]:
        """What a reader has to know about how it was compared."""
        if self.same_by == BATCHES:
            bases = "; ".join(f"{each.shown}: {self._bases(each)}" for each in self.replicas)
            yield Line(f"{self.partition}: compared by batches, segments begin at {bases}")
        ends = {replica.log_end_offset for replica in self.replicas}
        if len(ends) > 1:
            told = ", ".join(f"{each.shown}: {each.log_end_offset}" for each in self.replicas)
            yield Line(f"{self.partition}: compared up to {self.end_offset}; logs end at {told}")
        compacted_to = max(replica.compacted_to for replica in self.replicas)
        if compacted_to:
            yield Line(f"{self.partition}: below {compacted_to} each is compacted for itself")

    def _bases(self, replica: Replica) -> str:
        return " ".join(str(file.base_offset) for file in self._segments(replica)) or "none"


def _same_bytes(one: LogFile, two: LogFile, *, may_end: set[LogFile]) -> bool:
    """Also if one is all of the other up to where its log ends."""
    sizes = one.path.stat().st_size, two.path.stat().st_size
    if sizes[0] != sizes[1] and (one if sizes[0] < sizes[1] else two) not in may_end:
        return False
    left = min(sizes)
    with one.path.open("rb") as ours, two.path.open("rb") as theirs:
        while left:
            wanted = min(BLOCK_BYTES, left)
            if ours.read(wanted) != theirs.read(wanted):
                return False
            left -= wanted
    return True


def _name(batch: StoredBatch) -> str:
    return f"{batch.header.base_offset}-{batch.header.last_offset}"


def _unlike(one: StoredBatch, two: StoredBatch, both: Iterable[str]) -> str:
    differing = [
        name for name in _SAID if getattr(one.header, name) != getattr(two.header, name)
    ] or ["bytes"]
    if differing == ["bytes"]:
        return f"the batch {_name(one)} has the same header, but not the same bytes"
    told = []
    for shown, batch in zip(both, (one, two), strict=True):
        fields = (f"{name.replace('_', ' ')} {getattr(batch.header, name)}" for name in differing)
        told.append(f"{shown} has {', '.join(list(fields)[:2])}")
    return f"batch {_name(one)}: {'; '.join(told)}"
