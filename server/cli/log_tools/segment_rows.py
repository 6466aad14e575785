"""Segments as rows: a `batch` row for each batch, behind it a `record` row for each record."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from barnabas.server.cli.log_tools.files import LogFile
from barnabas.server.cli.log_tools.formats import Format, formatted
from barnabas.server.cli.log_tools.internal_topics import RECORDS, decode_record
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import (
    Control,
    EndTransactionMarker,
    LeaderChange,
    parse_control,
)
from barnabas.storage.batch.header import BatchHeader, crc_is_valid
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import StorageError

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted of a file."""

    offset: int = 0
    """Leave out what lies below."""
    with_records: bool = True
    """Or the batches' headers only."""
    keys: Format = Format.AUTO
    values: Format = Format.AUTO
    topic: str | None = None
    """Decode records as those of this topic, whatever directory they are in."""


def log_rows(file: LogFile, options: Options) -> Iterator[Row]:
    """The rows of a `.log` file; the last one an `error` if it does not end with a batch."""
    topic = file.topic if options.topic is None else options.topic
    shown = RecordView(topic, options)
    opened = OpenFile(REAL, os.open(file.path, os.O_RDONLY))
    position = 0
    try:
        for position, header, chunk in read_batches(opened, 0, opened.size_bytes()):
            end = position + header.size_bytes
            if header.last_offset >= options.offset:
                yield from _batch_rows(position, header, chunk, shown)
            position = end
    except StorageError as error:
        yield {"type": "error", "position": position, "reason": error.reason}


def _batch_rows(
    position: int, header: BatchHeader, chunk: bytes, shown: "RecordView"
) -> Iterator[Row]:
    is_valid = crc_is_valid(chunk, header)
    yield batch_row(position, header, is_valid)
    if not is_valid:
        yield {
            "type": "error",
            "position": position,
            "offset": header.base_offset,
            "reason": "the batch does not have the CRC of its bytes",
        }
        return
    if not shown.options.with_records:
        return
    try:
        for record in decode_batch(chunk, header):
            if record.offset >= shown.options.offset:
                yield shown.row(record, is_control=header.is_control)
    except StorageError as error:
        offset = header.base_offset
        yield {"type": "error", "position": position, "offset": offset, "reason": error.reason}


def batch_row(position: int, header: BatchHeader, is_valid: bool) -> Row:
    """A batch's header; of formats 0 and 1, which do not say more, the last offset."""
    return {
        "type": "batch",
        "position": position,
        "size_bytes": header.size_bytes,
        "magic": header.magic,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "record_count": header.record_count,
        "codec": _codec_name(header.codec),
        "crc": header.crc,
        "is_valid": is_valid,
        "partition_leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "last_sequence": header.last_sequence,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
        "timestamp_type": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "delete_horizon_ms": header.delete_horizon_ms,
    }


def _codec_name(codec: int) -> str:
    try:
        return Codec(codec).label
    except ValueError:
        return f"unknown ({codec})"


@dataclass(frozen=True, slots=True)
class RecordView:
    """How the records of one log are shown."""

    topic: str
    options: Options

    def row(self, record: Record, *, is_control: bool) -> Row:
        """One record."""
        key: Any
        value: Any
        row: Row = {
            "type": "record",
            "offset": record.offset,
            "timestamp": record.timestamp,
            "sequence": record.sequence,
        }
        if is_control:
            return row | {"control": control_shown(parse_control(record))}
        decoded = None
        if self.topic in RECORDS:
            decoded = decode_record(self.topic, record.key, record.value)
        if decoded is None:
            key = formatted(record.key, self.options.keys)
            value = formatted(record.value, self.options.values)
        else:
            key, value = decoded
        headers = [
            [name, formatted(content, self.options.values)] for name, content in record.headers
        ]
        return row | {"key": key, "value": value, "headers": headers}


def control_shown(control: Control) -> Row:
    """What a control record says."""
    if isinstance(control, EndTransactionMarker):
        kind = "COMMIT" if control.is_commit else "ABORT"
        return {"type": kind, "coordinator_epoch": control.coordinator_epoch}
    if isinstance(control, LeaderChange):
        return {
            "type": "LEADER_CHANGE",
            "leader_id": control.leader_id,
            "voters": list(control.voters),
        }
    return {"type": control.type}
