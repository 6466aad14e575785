"""Writing one partition's log, and remembering what a consumer is to see of it.

Values of aborted transactions begin with `aborted`, of an open one with `open`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from barnabas.storage.batch.builder import build_batch, build_end_transaction_marker
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from barnabas.storage.log.log import Log
from barnabas.storage.producers.entry import AppendOrigin

NOW_MS = 1_700_000_000_000
HEADERS = (("trace", b"abc"), ("none", None), ("trace", b""))


@dataclass
class Written:
    """What is in one partition."""

    log_start_offset: int = 0
    log_end_offset: int = 0
    last_stable_offset: int = 0
    records: list[Record] = field(default_factory=list)
    """All that a consumer is to see, without regard to transactions."""

    @property
    def committed(self) -> list[Record]:
        """What one with `read_committed` is to see."""
        return [
            record
            for record in self.records
            if record.offset < self.last_stable_offset
            and not (record.value or b"").startswith((b"aborted", b"open"))
        ]


class PartitionWriter:
    """Appends to one log and remembers what."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._records: list[Record] = []
        self._sequences: dict[int, int] = {}
        self.survives: Callable[[list[Record]], Iterable[Record]] = lambda records: records
        """What compaction leaves of the records."""

    def append(
        self,
        records: Sequence[Record],
        *,
        codec: int = Codec.NONE,
        producer_id: int = -1,
        is_transactional: bool = False,
        epoch: int = 0,
    ) -> None:
        """Append one batch, of an idempotent producer if there is a producer id."""
        for number, record in enumerate(records):
            record.offset = number
        sequence = self._sequences.get(producer_id, 0) if producer_id >= 0 else -1
        batch = build_batch(
            records,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        self._sequences[producer_id] = sequence + len(records)
        self._take(batch, records, epoch)

    def append_old(self, records: Sequence[Record], magic: int, codec: int) -> None:
        """Append one message set of format 0 or 1."""
        for number, record in enumerate(records):
            record.offset = number
        self._take(build_message_set(records, magic, codec=codec), records, 0)

    def _take(self, batch: bytearray, records: Sequence[Record], epoch: int) -> None:
        now_ms = NOW_MS + self.log.log_end_offset
        first = self.log.log_end_offset
        info = self.log.append_as_leader(memoryview(batch), epoch, now_ms)
        for record in records:
            record.offset += first
            if info.log_append_time_ms >= 0:
                record.timestamp = info.log_append_time_ms
        self._records += records

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Append the coordinator's marker."""
        marker = build_end_transaction_marker(
            EndTransactionMarker(is_commit, coordinator_epoch=0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp_ms=NOW_MS + self.log.log_end_offset,
        )
        self.log.append_as_leader(memoryview(marker), 0, NOW_MS, origin=AppendOrigin.COORDINATOR)

    def written(self) -> Written:
        """What is in the log now."""
        log = self.log
        log.update_high_watermark(log.log_end_offset)
        return Written(
            log.log_start_offset,
            log.log_end_offset,
            log.last_stable_offset,
            [
                record
                for record in self.survives(self._records)
                if record.offset >= log.log_start_offset
            ],
        )


def sample(count: int, word: str = "value", *, headers: bool = True) -> list[Record]:
    """Records of all kinds, their timestamps in no order."""
    made = [
        Record(
            0,
            NOW_MS + (number * 37) % 11,
            f"key-{number}".encode(),
            f"{word} {number} ".encode() * (1 + number % 30),
            HEADERS if headers and number % 3 == 0 else (),
        )
        for number in range(count)
    ]
    if count > 3 and word == "value":
        made[1].key = None
        made[2].value = None
        made[3].key = made[3].value = b""
    return made
