"""The content of a file as rows: plain dictionaries, one for each thing in it.

Every row has `type` and `file`. `batch` and `record` rows come from segments, the other types
carry the name of what an entry is. An `error` row says where a file stops making sense.
"""

from collections.abc import Callable, Iterator

from barnabas.server.cli.log_tools.files import Kind, LogFile
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.server.cli.log_tools.segment_rows import Options, Row, log_rows
from barnabas.storage.directory import (
    checkpoints,
    clean_marker,
    meta_properties,
    partition_metadata,
)
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import StorageError
from barnabas.storage.producers.leader_epochs import parse_epochs
from barnabas.storage.producers.snapshot import parse_snapshot
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.time_index import TimeIndex
from barnabas.storage.segment.transaction_index import TransactionIndex

_ANY_SIZE = 1 << 62


def rows_of(file: LogFile, options: Options) -> Iterator[Row]:
    """The rows of a file. Raises OSError."""
    try:
        for row in _READERS[file.kind](file, options):
            yield {"type": row.pop("type"), "file": file.name} | row
    except StorageError as error:
        reason = error.reason.removeprefix(f"{file.path}: ")
        yield {"type": "error", "file": file.name, "reason": reason}


# --- indexes -------------------------------------------------------------------------------


def _index_rows(file: LogFile, options: Options) -> Iterator[Row]:
    index = OffsetIndex(FileCache(READ_ONLY), str(file.path), file.base_offset, _ANY_SIZE)
    index.load()
    for offset, position in index.entries():
        if offset >= options.offset:
            yield {"type": "index_entry", "offset": offset, "position": position}


def _time_index_rows(file: LogFile, options: Options) -> Iterator[Row]:
    index = TimeIndex(FileCache(READ_ONLY), str(file.path), file.base_offset, _ANY_SIZE)
    index.load()
    for timestamp, offset in index.entries():
        if offset >= options.offset:
            yield {"type": "time_index_entry", "timestamp": timestamp, "offset": offset}


def _transaction_index_rows(file: LogFile, options: Options) -> Iterator[Row]:
    index = TransactionIndex(FileCache(READ_ONLY), str(file.path), file.base_offset, exists=True)
    for aborted in index.entries():
        if aborted.last_offset >= options.offset:
            yield {
                "type": "aborted_transaction",
                "producer_id": aborted.producer_id,
                "first_offset": aborted.first_offset,
                "last_offset": aborted.last_offset,
                "last_stable_offset": aborted.last_stable_offset,
            }


# --- small files ---------------------------------------------------------------------------


def _snapshot_rows(file: LogFile, _: Options) -> Iterator[Row]:
    for entry in parse_snapshot(file.path.read_bytes()):
        first_offset = entry.current_transaction_first_offset
        yield {
            "type": "producer",
            "producer_id": entry.producer_id,
            "producer_epoch": entry.epoch,
            "coordinator_epoch": entry.coordinator_epoch,
            "last_sequence": entry.last_sequence,
            "last_offset": entry.last_data_offset,
            "offset_delta": entry.last_offset_delta,
            "last_timestamp": entry.last_timestamp,
            "current_transaction_first_offset": None if first_offset < 0 else first_offset,
        }


def _epoch_rows(file: LogFile, _: Options) -> Iterator[Row]:
    for epoch, start_offset in parse_epochs(file.path.read_bytes()):
        yield {"type": "leader_epoch", "epoch": epoch, "start_offset": start_offset}


def _partition_metadata_rows(file: LogFile, _: Options) -> Iterator[Row]:
    topic_id = partition_metadata.read_topic_id(READ_ONLY, str(file.path.parent))
    assert topic_id is not None
    yield {"type": "topic_id", "topic_id": partition_metadata.topic_id_text(topic_id)}


def _checkpoint_rows(file: LogFile, _: Options) -> Iterator[Row]:
    for (topic, partition), offset in checkpoints.read_offsets(READ_ONLY, str(file.path)).items():
        yield {"type": "checkpoint", "topic": topic, "partition": partition, "offset": offset}


def _meta_rows(file: LogFile, _: Options) -> Iterator[Row]:
    meta = meta_properties.read_meta_properties(READ_ONLY, str(file.path.parent))
    assert meta is not None
    yield {
        "type": "meta_properties",
        "version": meta.version,
        "broker_id": meta.broker_id,
        "cluster_id": meta.cluster_id,
        "directory_id": meta.directory_id,
    }


def _clean_shutdown_rows(file: LogFile, _: Options) -> Iterator[Row]:
    yield {
        "type": "clean_shutdown",
        "broker_epoch": clean_marker.parse_broker_epoch(file.path.read_bytes()),
    }


_READERS: dict[Kind, Callable[[LogFile, Options], Iterator[Row]]] = {
    Kind.LOG: log_rows,
    Kind.RAFT_SNAPSHOT: log_rows,
    Kind.INDEX: _index_rows,
    Kind.TIME_INDEX: _time_index_rows,
    Kind.TRANSACTION_INDEX: _transaction_index_rows,
    Kind.SNAPSHOT: _snapshot_rows,
    Kind.EPOCHS: _epoch_rows,
    Kind.PARTITION_METADATA: _partition_metadata_rows,
    Kind.CHECKPOINT: _checkpoint_rows,
    Kind.META_PROPERTIES: _meta_rows,
    Kind.CLEAN_SHUTDOWN: _clean_shutdown_rows,
}
