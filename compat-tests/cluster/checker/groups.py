"""What a group read and committed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from exactly_once.checker.history import Place

from cluster.checker.anomalies import Anomaly, Kind
from cluster.checker.history import History


def check_reads(history: History) -> Iterator[Anomaly]:
    """What was read once stays: nobody reads above the high watermark, and that is kept."""
    final = {place: dict(records) for place, records in history.final.items()}
    for poll in history.polls:
        if poll.place in final:
            for offset, value in poll.records:
                if final[poll.place].get(offset) != value:
                    now = final[poll.place].get(offset)
                    what = f"{poll.consumer} read {value} at {offset}, where {now} is now"
                    yield Anomaly(Kind.VANISHED, poll.place, what)


def check_offsets(history: History) -> Iterator[Anomaly]:
    """An offset that is asked for is not below one whose commit was answered before.

    Members commit rising offsets, and whoever takes a partition over goes on from what is
    committed: no later commit is a lower one.
    """
    events = [(each.at, 0, each) for each in history.committed]
    events += [(each.at, 1, each) for each in history.found]
    highest: dict[tuple[str, Place], int] = defaultdict(int)
    for _, is_found, each in sorted(events, key=lambda event: event[:2]):
        known = highest[each.group, each.place]
        if is_found and each.offset < known:
            what = f"{each.consumer} found {each.offset}, where {known} was committed"
            yield Anomaly(Kind.LOST_OFFSET, each.place, what)
        elif not is_found:
            highest[each.group, each.place] = max(known, each.offset)


def check_coverage(history: History) -> Iterator[Anomaly]:
    """Below what a group has committed at last, it has read every record."""
    read: dict[tuple[str, Place], set[int]] = defaultdict(set)
    for poll in history.polls:
        read[poll.group, poll.place].update(offset for offset, _ in poll.records)
    for (group, place), committed in history.groups.items():
        for offset, value in history.final.get(place, ()):
            if offset < committed and offset not in read[group, place]:
                yield Anomaly(Kind.SKIPPED, place, f"{value} at {offset} by {group}")
