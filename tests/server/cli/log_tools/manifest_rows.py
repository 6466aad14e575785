"""What a golden manifest says of a file, in the shape in which `log dump --json` says it."""

import json
import re
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

# Kafka's name of a batch's fact -> ours
BATCH_FACTS = {
    "baseOffset": "base_offset",
    "lastOffset": "last_offset",
    "offset": "last_offset",
    "count": "record_count",
    "baseSequence": "base_sequence",
    "lastSequence": "last_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "partition_leader_epoch",
    "isTransactional": "is_transactional",
    "isControl": "is_control",
    "deleteHorizonMs": "delete_horizon_ms",
    "position": "position",
    "CreateTime": "max_timestamp",
    "LogAppendTime": "max_timestamp",
    "NoTimestampType": "max_timestamp",
    "size": "size_bytes",
    "magic": "magic",
    "compresscodec": "codec",
    "crc": "crc",
    "isvalid": "is_valid",
}


def batch_facts(batch: Row) -> Row:
    """A batch of the manifest, without its records."""
    facts = {BATCH_FACTS[name]: value for name, value in batch.items() if name != "records"}
    if "LogAppendTime" in batch or "CreateTime" in batch:
        facts["timestamp_type"] = "LogAppendTime" if "LogAppendTime" in batch else "CreateTime"
    return facts


def record_facts(record: list[Any]) -> list[Any]:
    """A record of the manifest: absent timestamps and sequences are -1 here."""
    return [-1 if value is None else value for value in record]


def dumped_record(row: Row) -> list[Any]:
    """A record row as the manifest has records."""
    facts = [row["offset"], row["timestamp"], row["sequence"]]
    if "control" in row:
        facts += [row["control"]["type"], row["control"]["coordinator_epoch"]]
    return facts


def dumped_line(row: Row) -> str:
    """An entry of a transaction index or snapshot as Kafka's tool prints it."""
    if row["type"] == "aborted_transaction":
        return (
            f"version: 0 producerId: {row['producer_id']} firstOffset: {row['first_offset']}"
            f" lastOffset: {row['last_offset']} lastStableOffset: {row['last_stable_offset']}"
        )
    first = row["current_transaction_first_offset"]
    line = (
        f"producerId: {row['producer_id']} producerEpoch: {row['producer_epoch']}"
        f" coordinatorEpoch: {row['coordinator_epoch']} currentTxnFirstOffset: "
        + ("OptionalLong.empty" if first is None else f"OptionalLong[{first}]")
        + f" lastTimestamp: {row['last_timestamp']}"
    )
    if row["last_sequence"] < 0:
        return line
    return (
        f"{line} firstSequence: {row['last_sequence'] - row['offset_delta']}"
        f" lastSequence: {row['last_sequence']} lastOffset: {row['last_offset']}"
        f" offsetDelta: {row['offset_delta']} timestamp: {row['last_timestamp']}"
    )


def dumped_text(rows: Iterable[Row]) -> list[str]:
    """The lines of a checkpoint or metadata file, made again from its rows."""
    rows = list(rows)
    if rows and rows[0]["type"] == "topic_id":
        return ["version: 0", f"topic_id: {rows[0]['topic_id']}"]
    if rows and rows[0]["type"] == "leader_epoch":
        return ["0", str(len(rows)), *(f"{row['epoch']} {row['start_offset']}" for row in rows)]
    lines = [f"{row['topic']} {row['partition']} {row['offset']}" for row in rows]
    return ["0", str(len(rows)), *lines]


INTERNAL = re.compile(
    r"offset: (?P<offset>\d+) CreateTime: (?P<timestamp>\d+) keySize: \d+ valueSize: -?\d+"
    r" sequence: (?P<sequence>-?\d+) headerKeys: \[\]"
    r"(?: endTxnMarker: (?P<marker>\w+) coordinatorEpoch: (?P<epoch>\d+))?"
    r"(?: key: (?P<key>.*) payload: (?P<payload>.*))?"
)


def check_internal_record(line: str, row: Row) -> None:
    """A decoded record of an internal topic against Kafka's line for it."""
    match = INTERNAL.fullmatch(line)
    assert match is not None, line
    said = match.groupdict()
    if said["marker"] is not None:
        control = {"type": said["marker"], "coordinator_epoch": int(said["epoch"])}
        assert row["control"] == control
    elif said["key"].startswith("transaction_metadata::"):
        assert _transaction_text(row) == (said["key"], said["payload"])
    else:
        key = json.loads(said["key"])
        assert row["key"]["type"] == int(key["type"])
        assert _camel(row["key"]["data"]) == key["data"]
        assert _value_facts(row) == (None if said["payload"] == "<DELETE>" else _value(said))
    facts = [int(said[name]) for name in ("offset", "timestamp", "sequence")]
    assert dumped_record(row)[:3] == facts


def _value(said: dict[str, str]) -> Row:
    value = json.loads(said["payload"])
    return {"version": int(value["version"]), "data": value["data"]}


def _value_facts(row: Row) -> Row | None:
    value = row["value"]
    if value is None:
        return None
    data = _camel(value["data"])
    data.pop("transactionState", None)
    return {"version": value["version"], "data": data}


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            re.sub(r"_(\w)", lambda match: match[1].upper(), name): _camel(content)
            for name, content in value.items()
        }
    return [_camel(each) for each in value] if isinstance(value, list) else value


def _transaction_text(row: Row) -> tuple[str, str]:
    """As the tool of Kafka 3.9 prints a transaction."""
    data = row["value"]["data"]
    partitions = [
        f"{each['topic']}-{partition}"
        for each in data["transaction_partitions"] or []
        for partition in each["partition_ids"]
    ]
    return (
        f"transaction_metadata::transactionalId={row['key']['data']['transactional_id']}",
        f"producerId:{data['producer_id']},producerEpoch:{data['producer_epoch']}"
        f",state={data['transaction_state']},partitions=[{','.join(partitions)}]"
        f",txnLastUpdateTimestamp={data['transaction_last_update_timestamp_ms']}"
        f",txnTimeoutMs={data['transaction_timeout_ms']}",
    )
