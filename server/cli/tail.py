"""`consume --tail`: the last records of several partitions, by time."""

from collections.abc import Iterable
from typing import Any

from barnabas.server.cli.offsets import Place
from barnabas.server.cli.reading import Range, Sink, read


class Kept:
    """A list for each partition."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.records: dict[Place, list[Any]] = {place: [] for place in places}

    def take(self, record: Any) -> None:
        """Keep it."""
        self.records[record.topic, record.partition].append(record)

    def flush(self) -> None:
        """Nothing to do."""


def read_tail(settings: dict[str, Any], wanted: Range, count: int, sink: Sink) -> None:
    """Of all that is in the range the last records by time, oldest first."""
    found = [record for each in _last_of_each(settings, wanted, count).values() for record in each]
    found.sort(key=lambda record: (record.timestamp, record.partition, record.offset))
    for record in found[-count:]:
        sink.take(record)
    sink.flush()


def _last_of_each(settings: dict[str, Any], wanted: Range, count: int) -> dict[Place, list[Any]]:
    """The last records of each partition: no partition has more of them than there are in all.

    Offsets may have no records: what is compacted away or aborted, and where transactions ended.
    A partition that has too few in a stretch is read further back, twice as far each time.
    """
    assert wanted.ends is not None
    found: dict[Place, list[Any]] = {place: [] for place in wanted.starts}
    until, distance = wanted.ends, count
    while until:
        since = {place: max(wanted.starts[place], end - distance) for place, end in until.items()}
        stretch = Kept(since)
        read(settings, Range(since, until, None), stretch)
        for place, records in stretch.records.items():
            found[place] = (records + found[place])[-count:]
        until = {place: at for place, at in since.items()
                 if at > wanted.starts[place] and len(found[place]) < count}  # fmt: skip
        distance *= 2
    return found
