"""Rows as lines for people: what each row says, and in which style a terminal shows it."""

import json
from collections.abc import Callable
from typing import NamedTuple

from barnabas.server.cli.log_tools.formats import time_text
from barnabas.server.cli.log_tools.segment_rows import Row


class Line(NamedTuple):
    """A line of text and the name of rich's style for it."""

    text: str
    style: str = ""


def line_of(row: Row) -> Line:
    """One row as a line."""
    make = _MAKERS.get(row["type"])
    return Line(str(row)) if make is None else make(row)


def _batch(row: Row) -> Line:
    first, last, count = row["base_offset"], row["last_offset"], row["record_count"]
    parts = [f"batch {last}" if first == last else f"batch {first}-{last}"]
    parts += [f"at {row['position']}", f"{row['size_bytes']} bytes", f"format {row['magic']}"]
    if count >= 0:
        parts.append("1 record" if count == 1 else f"{count} records")
    parts += [row["codec"], f"{row['timestamp_type']} {time_text(row['max_timestamp'])}"]
    if row["partition_leader_epoch"] >= 0:
        parts.append(f"leader epoch {row['partition_leader_epoch']}")
    if row["producer_id"] >= 0:
        parts.append(f"producer {row['producer_id']} epoch {row['producer_epoch']}")
    if row["base_sequence"] >= 0:
        parts.append(f"sequences {row['base_sequence']}-{row['last_sequence']}")
    parts += [name for name in ("transactional", "control") if row[f"is_{name}"]]
    if row["delete_horizon_ms"] is not None:
        parts.append(f"delete horizon {time_text(row['delete_horizon_ms'])}")
    if not row["is_valid"]:
        parts.append("WRONG CRC")
    return Line("  " + ", ".join(parts), "cyan" if row["is_valid"] else "bold red")


def _record(row: Row) -> Line:
    start = f"    {row['offset']}  {time_text(row['timestamp'])}"
    if "control" in row:
        control = row["control"]
        rest = " ".join(f"{name}={value}" for name, value in control.items() if name != "type")
        return Line(f"{start}  {control['type']} {rest}", "magenta")
    text = f"{start}  {_shown(row['key'])} = {_shown(row['value'])}"
    if row["headers"]:
        text += "  " + " ".join(f"{name}:{_shown(value)}" for name, value in row["headers"])
    return Line(text)


def _shown(value: object) -> str:
    """A key or value as JSON, in front of a decoded one what it is."""
    name = ""
    if isinstance(value, dict) and "data" in value:
        name = f"{value['name']} " if "name" in value else f"version {value['version']} "
        value = value["data"]
    return name + json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _producer(row: Row) -> Line:
    text = (
        f"  producer {row['producer_id']} epoch {row['producer_epoch']}:"
        f" last sequence {row['last_sequence']}, last offset {row['last_offset']}"
        f" ({time_text(row['last_timestamp'])}), coordinator epoch {row['coordinator_epoch']}"
    )
    first_offset = row["current_transaction_first_offset"]
    return Line(text if first_offset is None else f"{text}, in a transaction since {first_offset}")


def _aborted(row: Row) -> Line:
    return Line(
        f"  aborted: producer {row['producer_id']} from {row['first_offset']}"
        f" to {row['last_offset']}, last stable offset {row['last_stable_offset']}"
    )


def _meta(row: Row) -> Line:
    facts = [f"{name} {row[name]}" for name in row if name not in ("type", "file")]
    return Line("  " + ", ".join(fact.replace("_", " ") for fact in facts))


def _error(row: Row) -> Line:
    place = "".join(f" {name} {row[name]}:" for name in ("position", "offset") if name in row)
    return Line(f"  damaged:{place} {row['reason']}", "bold red")


_MAKERS: dict[str, Callable[[Row], Line]] = {
    "batch": _batch,
    "record": _record,
    "producer": _producer,
    "aborted_transaction": _aborted,
    "meta_properties": _meta,
    "error": _error,
    "file": lambda row: Line(f"{row['file']} ({row['size_bytes']} bytes)", "bold"),
    "index_entry": lambda row: Line(f"  offset {row['offset']} at {row['position']}"),
    "time_index_entry": lambda row: Line(
        f"  {time_text(row['timestamp'])} up to offset {row['offset']}"
    ),
    "leader_epoch": lambda row: Line(f"  epoch {row['epoch']} from offset {row['start_offset']}"),
    "topic_id": lambda row: Line(f"  topic id {row['topic_id']}"),
    "checkpoint": lambda row: Line(f"  {row['topic']}-{row['partition']}: {row['offset']}"),
    "clean_shutdown": lambda row: Line(f"  broker epoch {row['broker_epoch']}"),
}
