"""Control records: what the broker itself writes between the data.

Key: int16 version (0), int16 type. Values:
    abort (0), commit (1): int16 version (0), int32 coordinator epoch  (KIP-98)
    leader change (2):     int16 version, int32 leader id, then compact arrays of voters and of
                           granting voters (KIP-595); written by Raft logs only
Types this code does not know are kept as `OtherControl`: newer brokers may write them.
"""

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct, error
from typing import Final

from barnabas.storage.batch.records import Record
from barnabas.storage.errors import CorruptBatch

_KEY: Final = Struct(">hh")
_END_TRANSACTION_VALUE: Final = Struct(">hi")
_VOTER_ID: Final = Struct(">i")
_DIRECTORY_ID_BYTES: Final = 16
_VERSION: Final = 0


class ControlType(IntEnum):
    """Types that mean something to a broker's log."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2


@dataclass(frozen=True, slots=True)
class EndTransactionMarker:
    """The end of a producer's transaction in this partition."""

    is_commit: bool
    coordinator_epoch: int

    @property
    def key(self) -> bytes:
        return _KEY.pack(_VERSION, ControlType.COMMIT if self.is_commit else ControlType.ABORT)

    @property
    def value(self) -> bytes:
        return _END_TRANSACTION_VALUE.pack(_VERSION, self.coordinator_epoch)


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """A new leader of a Raft quorum, and who voted."""

    leader_id: int
    voters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OtherControl:
    """A control record of a type that has no meaning here."""

    type: int


Control = EndTransactionMarker | LeaderChange | OtherControl


def parse_control(record: Record) -> Control:
    """What a control record says; raises CorruptBatch if its key or value is malformed."""
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise CorruptBatch(f"a control record key has {len(key)} bytes", offset=record.offset)
    version, control_type = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"a control record has version {version}", offset=record.offset)
    if control_type in (ControlType.ABORT, ControlType.COMMIT):
        return _parse_end_transaction(record.offset, control_type == ControlType.COMMIT, value)
    if control_type == ControlType.LEADER_CHANGE:
        return _parse_leader_change(record.offset, value)
    return OtherControl(control_type)


def _parse_end_transaction(offset: int, is_commit: bool, value: bytes) -> EndTransactionMarker:
    if len(value) < _END_TRANSACTION_VALUE.size:
        raise CorruptBatch(f"a transaction marker has {len(value)} bytes", offset=offset)
    version, coordinator_epoch = _END_TRANSACTION_VALUE.unpack_from(value)
    if version < 0:
        raise CorruptBatch(f"a transaction marker has version {version}", offset=offset)
    return EndTransactionMarker(is_commit, coordinator_epoch)


def _parse_leader_change(offset: int, value: bytes) -> LeaderChange:
    """Voters: compact array (one-byte count plus one), each an id, from version 1 a directory
    id, and tagged fields, which nobody writes."""
    try:
        version, leader_id = _END_TRANSACTION_VALUE.unpack_from(value)
        voter_bytes = _VOTER_ID.size + 1 + (_DIRECTORY_ID_BYTES if version > 0 else 0)
        start = _END_TRANSACTION_VALUE.size
        starts = [start + 1 + voter_bytes * number for number in range(value[start] - 1)]
        voters = tuple(_VOTER_ID.unpack_from(value, position)[0] for position in starts)
    except (IndexError, error):
        raise CorruptBatch("a leader change record is cut short", offset=offset) from None
    return LeaderChange(leader_id, voters)
