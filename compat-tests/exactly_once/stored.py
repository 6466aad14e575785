"""What the broker has stored: to tell its faults from those of clients."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exactly_once.checker.blame import OPEN, Stored
from exactly_once.checker.history import Place

LOG = "log"
TIMEOUT_S = 300


def keep_log(data: Path, folder: Path) -> None:
    """Copy the segments of every partition, without their indexes."""
    for segment in sorted(data.glob("*-*/*.log")):
        target = folder / segment.parent.name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(segment, target)


def read_log(folder: Path) -> dict[str, list[Stored]]:
    """Every record of the topics that was written in a transaction, by value."""
    stored = defaultdict(list)
    for partition in sorted(folder.glob("[!_]*-*")):
        topic, _, number = partition.name.rpartition("-")
        for record in _records(Place(topic, int(number)), partition):
            stored[record.value].append(record)
    return dict(stored)


def _records(place: Place, partition: Path) -> Iterator[Stored]:
    """Records as their markers come by; at the end those whose marker has not come."""
    open_records: dict[int, list[Stored]] = defaultdict(list)
    producer, epoch = -1, -1
    for row in _rows(partition):
        if row["type"] == "batch":
            producer, epoch = row["producer_id"], row["producer_epoch"]
        elif row["type"] == "record" and "control" in row:
            fate, offset = row["control"]["type"], row["offset"]
            for record in open_records.pop(producer, ()):
                yield record._replace(fate=fate, ended_at=offset)
        elif row["type"] == "record":
            numbers = (row["offset"], producer, epoch, row["sequence"])
            open_records[producer].append(Stored(row["value"], place, *numbers, OPEN, -1))
    for records in open_records.values():
        yield from records


def _rows(partition: Path) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "barnabas", "log", "dump", "--json", "--values", "text"]
    done = subprocess.run(
        [*command, str(partition)], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    for line in done.stdout.splitlines():
        yield json.loads(line)
