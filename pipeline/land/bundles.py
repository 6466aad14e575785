"""Which small files of a lake are merged with which. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from barnabas.pipeline.lake.entries import Held, LandedFile

SMALL = 0.5  # of the wanted size: what is larger is left as it is
BUNDLES_AT_ONCE = 200
BYTES_AT_ONCE = 8 << 30


@dataclass(frozen=True)
class Bundle:
    """Files of one topic, id, day and schema, which become one."""

    files: tuple[LandedFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def kind(self) -> tuple[bool, str]:
        """What Spark can read in one go."""
        return self.files[0].is_dead_letters, self.files[0].parsed

    def held(self) -> dict[int, Held]:
        """What the merged file holds, by partition."""
        merged: dict[int, Held] = {}
        for file in self.files:
            for partition, held in file.offsets.items():
                other = merged.get(partition, held)
                rows = held.rows + (other.rows if partition in merged else 0)
                first, last = min(held.first, other.first), max(held.last, other.last)
                merged[partition] = Held(first, last, rows)
        return merged

    def merged(self, name: str, size_bytes: int) -> LandedFile:
        """The merged file."""
        one = self.files[0]
        rows = sum(file.rows for file in self.files)
        path = f"{one.folder}/{name}"
        return LandedFile(path, rows, size_bytes, one.topic_id, self.held(), one.parsed)


def bundles(files: Iterable[LandedFile], wanted_bytes: int) -> list[Bundle]:
    """Bundles of at least two files and of about the wanted size, in the order of their folders."""
    groups: dict[tuple[str, str, str], list[LandedFile]] = {}
    for file in sorted(files, key=lambda file: file.path):
        if file.bytes < wanted_bytes * SMALL:
            key = (file.folder, file.topic_id or "", file.parsed)
            groups.setdefault(key, []).append(file)
    return [
        Bundle(tuple(part))
        for _, group in sorted(groups.items())
        for part in _parts(group, wanted_bytes)
        if len(part) > 1
    ]


def _parts(files: Sequence[LandedFile], wanted_bytes: int) -> Iterator[list[LandedFile]]:
    part: list[LandedFile] = []
    size = 0
    for file in files:
        if part and size + file.bytes > wanted_bytes:
            yield part
            part, size = [], 0
        part.append(file)
        size += file.bytes
    if part:
        yield part


def at_once(found: Iterable[Bundle]) -> list[list[Bundle]]:
    """Bundles that one Spark job merges: of one kind, and not too much of them."""
    jobs: list[list[Bundle]] = []
    size = 0
    for bundle in sorted(found, key=lambda bundle: bundle.kind):
        fits = jobs and len(jobs[-1]) < BUNDLES_AT_ONCE and size + bundle.bytes <= BYTES_AT_ONCE
        if not fits or jobs[-1][0].kind != bundle.kind:
            jobs.append([])
            size = 0
        jobs[-1].append(bundle)
        size += bundle.bytes
    return jobs
