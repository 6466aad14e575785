"""Apache Kafka's dump tool: run on files of ours, and what it printed as facts.

The tool says on its standard error what it finds wrong, among notices of its logging library.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.batch.control_records import Control, EndTransactionMarker, parse_control
from barnabas.storage.batch.records import Record

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import java_command, require_oracle

TOOLS = {
    "jars-3.9.1": "kafka.tools.DumpLogSegments",
    "jars-4.4.0": "org.apache.kafka.tools.DumpLogSegments",
}
RECORD_LINE = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<type>\w+): (?P<timestamp>-?\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+)(?: isValid: true crc: \d+\}?)?"
    r"(?: sequence: (?P<sequence>-?\d+) "
    r"headerKeys: \[(?P<headers>[^\]]*)\])?"
    r"(?: endTxnMarker: (?P<marker>.*))?(?: key: (?P<key>.*?))?(?: payload: (?P<value>.*))?$"
)


class Dump(NamedTuple):
    """What the tool printed: lines by `directory/file`, and its complaints."""

    files: dict[str, list[str]]
    complaints: list[str]


def dump(jars: str, paths: Sequence[Path], *options: str) -> Dump:
    """Run the tool of one release on some files; it has to end well."""
    files = ",".join(str(path) for path in paths)
    result = subprocess.run(
        java_command(require_oracle(jars), TOOLS[jars], "--files", files, *options),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    notices = ("log4j:", "SLF4J:")
    said = [line for line in result.stderr.splitlines() if not line.startswith(notices)]
    return Dump(split_by_file(result.stdout), said)


def split_by_file(output: str) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for line in output.splitlines():
        if line.startswith("Dumping "):
            path = Path(line.removeprefix("Dumping "))
            current = files.setdefault(f"{path.parent.name}/{path.name}", [])
        else:
            current.append(line)
    return files


def records_of(lines: list[str]) -> list[dict[str, str | None]]:
    found = []
    for line in lines:
        if line.startswith("|"):
            match = RECORD_LINE.match(line)
            assert match, line
            row = match.groupdict()
            del row["type"]
            if row["sequence"] is None:
                row |= {"sequence": "-1", "headers": ""}
            found.append(row)
    return found


def shown(record: Record) -> dict[str, str | None]:
    """A record as the tool prints it: a marker's key and value are not shown as text."""
    is_marker = record.key is not None and record.key[:2] == b"\0\0"
    marker = parse_control(record) if is_marker else None
    return {
        "offset": str(record.offset),
        "timestamp": str(record.timestamp),
        "key_size": str(-1 if record.key is None else len(record.key)),
        "value_size": str(-1 if record.value is None else len(record.value)),
        "sequence": str(record.sequence),
        "headers": ",".join(key for key, _ in record.headers),
        "marker": marker_shown(marker),
        "key": None if record.key is None or is_marker else record.key.decode(),
        "value": None if record.value is None or is_marker else record.value.decode(),
    }


def marker_shown(marker: Control | None) -> str | None:
    if not isinstance(marker, EndTransactionMarker):
        return None
    kind = "COMMIT" if marker.is_commit else "ABORT"
    return f"{kind} coordinatorEpoch: {marker.coordinator_epoch}"
