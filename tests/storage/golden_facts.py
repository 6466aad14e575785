"""What a log says, in the words of a golden manifest, to be held against it."""

from typing import Any

from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import MAGIC_V2, BatchHeader
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log


def facts_of(header: BatchHeader) -> dict[str, Any]:
    facts = {
        "size": header.size_bytes,
        "crc": header.crc,
        "magic": header.magic,
        "compresscodec": Codec(header.codec).label,
        "time": header.max_timestamp,
        "lastOffset": header.last_offset,
    }
    if header.magic == MAGIC_V2:
        facts |= {
            "baseOffset": header.base_offset,
            "count": header.record_count,
            "baseSequence": header.base_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "isTransactional": header.is_transactional,
            "isControl": header.is_control,
            "deleteHorizonMs": header.delete_horizon_ms,
            "isAppendTime": header.is_log_append_time,
        }
    return facts


def wanted_facts(batch: dict[str, Any]) -> dict[str, Any]:
    facts = dict(batch)
    kinds = ("CreateTime", "LogAppendTime", "NoTimestampType")
    facts["time"] = next(facts[kind] for kind in kinds if kind in facts)
    if batch["magic"] == MAGIC_V2:
        facts["isAppendTime"] = "LogAppendTime" in batch
    else:
        facts["lastOffset"] = facts.pop("offset")
    left_out = (*kinds, "records", "position", "isvalid", "lastSequence")
    return {name: value for name, value in facts.items() if name not in left_out}


def record_facts(record: Record, header: BatchHeader) -> list[Any]:
    facts: list[Any] = [record.offset, record.timestamp, record.sequence]
    if header.is_control:
        marker = parse_control(record)
        assert isinstance(marker, EndTransactionMarker)
        facts += ["COMMIT" if marker.is_commit else "ABORT", marker.coordinator_epoch]
    return facts


def wanted_records(batch: dict[str, Any], found: list[list[Any]]) -> list[list[Any]]:
    """Of internal topics the manifest has lines of text: there only the offsets are compared."""
    said = batch.get("records", [])
    if said and isinstance(said[0], str):
        offsets = [int(line.split()[1]) for line in said]
        return [[offset, *facts[1:]] for offset, facts in zip(offsets, found, strict=True)]
    return [[-1 if fact is None else fact for fact in record] for record in said]


def producers_of(log: Log) -> list[str]:
    """In the words of Kafka's tool."""
    lines = []
    for entry in log.producer_entries():
        first = entry.current_transaction_first_offset
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch}"
            f" coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: "
            + ("OptionalLong.empty" if first < 0 else f"OptionalLong[{first}]")
            + f" lastTimestamp: {entry.last_timestamp}"
        )
        for sequence, offset, delta, timestamp in entry.batches[-1:]:
            line += (
                f" firstSequence: {sequence - delta} lastSequence: {sequence}"
                f" lastOffset: {offset} offsetDelta: {delta} timestamp: {timestamp}"
            )
        lines.append(line)
    return sorted(lines)
