"""What was asked of one topic's log and what was promised, and whether it is kept.

Promises come at two levels. An append that was answered outlives the process. What lies below
the log's recovery point, which is what acknowledges at `flush.messages`, outlives a power cut.
A truncation is only as durable as the next flush: until then a power cut may bring back what
was truncated, but nothing else, and nothing below.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.storage.batch.records import Record
from barnabas.storage.errors import StorageError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.managed_log import ManagedLog

from ..log_checks import (
    Found,
    Role,
    Transactions,
    batches_of,
    check_committed,
    check_indexes,
    check_producers,
    is_marker,
    outcomes_among,
    serial_of,
)


@dataclass
class Ledger:
    """One incarnation of a topic."""

    topic: str
    topic_id: bytes
    config: LogConfig
    records: dict[int, Record] = field(default_factory=dict)
    """What was answered, by offset."""
    stale: dict[int, set[bytes]] = field(default_factory=dict)
    """Serials that a power cut may bring back."""
    may_be_gone: set[int] = field(default_factory=set)
    """Offsets that compaction could have removed because of what was truncated since."""
    end: int = 0
    start: int = 0
    durable_end: int = 0
    holes: set[int] = field(default_factory=set)
    """Offsets that power cuts have taken, and not what came behind them."""
    boundaries: list[int] = field(default_factory=list)
    """Where batches begin: leader epochs begin there too, so logs are truncated there alone."""
    in_flight: list[Record] = field(default_factory=list)
    truncating_to: int | None = None
    serials: set[bytes] = field(default_factory=set)
    """All that were ever sent to it."""
    transactions: Transactions = field(default_factory=dict)
    """Of those of transactions, markers too."""
    had_power_cut: bool = False
    is_created: bool = False
    is_being_deleted: bool = False
    is_deleted: bool = False

    def settle(self) -> None:
        """What was in flight is answered."""
        for record in self.in_flight:
            self.records[record.offset] = record
            self.end = record.offset + 1
        self.in_flight = []

    def begin_truncation(self, offset: int, high_watermark: int) -> None:
        """The log is about to be truncated; what was replicated may have been compacted by."""
        seen: set[bytes | None] = set()
        reopened: set[int] = set()
        for at in sorted(self.records, reverse=True):
            record = self.records[at]
            if at >= offset:
                self.stale.setdefault(at, set()).add(serial_of(record))
                if at < high_watermark:
                    self._reopen(record, reopened)
                    seen.add(record.key)
            elif self._is_reopened(record, reopened) or record.key in seen:
                self.may_be_gone.add(at)
                seen.add(record.key)
        self.truncating_to = offset

    def _reopen(self, record: Record, reopened: set[int]) -> None:
        """A marker goes by which compaction may have gone already."""
        producer_id, role = self.transactions.get(serial_of(record), (-1, Role.DATA))
        if role is not Role.DATA:
            reopened.add(producer_id)

    def _is_reopened(self, record: Record, reopened: set[int]) -> bool:
        """Whether a record is of a transaction whose marker goes."""
        producer_id, role = self.transactions.get(serial_of(record), (-1, Role.DATA))
        if role is not Role.DATA:
            reopened.discard(producer_id)
        return producer_id in reopened

    def end_truncation(self, end: int) -> None:
        self.truncating_to = None
        self.records = {at: record for at, record in self.records.items() if at < end}
        self.may_be_gone = {at for at in self.may_be_gone if at < end}
        self.boundaries = [at for at in self.boundaries if at < end]
        self.holes = {at for at in self.holes if at < end}
        self.end = end
        self.start = min(self.start, end)
        self.durable_end = min(self.durable_end, end)

    def look(self, log: ManagedLog) -> None:
        """Take up what the log promises now."""
        self.start = max(self.start, log.log_start_offset)
        point = log.recovery_point
        if point > max(self.durable_end, log.log_start_offset):
            self.durable_end = point
            self.stale = {at: old for at, old in self.stale.items() if at >= point}

    # --- checks ------------------------------------------------------------------------

    def check(self, log: ManagedLog, *, power_cut: bool) -> Found:
        """Hold a log against the promises: the batches that are there."""
        try:
            return self._check(log, power_cut)
        except (AssertionError, StorageError) as error:
            error.add_note(f"{self.topic}: {log.segments.base_offsets}")
            raise

    def _check(self, log: ManagedLog, power_cut: bool) -> Found:
        found = batches_of(log)
        kept = [record for _, _, records in found for record in records]
        offsets = [record.offset for record in kept]
        assert offsets == sorted(set(offsets)), f"order: {offsets}"
        serials = [serial_of(record) for record in kept]
        assert len(serials) == len(set(serials)), f"doubled: {serials}"
        for record in kept:
            allowed = self._allowed(record.offset, power_cut)
            assert serial_of(record) in allowed, (
                f"offset {record.offset} holds {serial_of(record)!r}, not one of {allowed}"
            )
        self._check_extent(log, power_cut)
        if self.config.compact:
            self._check_keys(kept, log, power_cut)
        else:
            self._check_gaps(offsets, log, power_cut)
        self.had_power_cut |= power_cut
        check_indexes(log, found, may_mend=self.had_power_cut)
        check_producers(log, found)
        check_committed(log, found)
        return found

    def _allowed(self, offset: int, power_cut: bool) -> set[bytes]:
        allowed = {serial_of(each) for each in self.in_flight if each.offset == offset}
        if offset in self.records:
            allowed.add(serial_of(self.records[offset]))
        if power_cut and offset >= self.durable_end:
            allowed |= self.stale.get(offset, set())
        return allowed

    def _check_extent(self, log: ManagedLog, power_cut: bool) -> None:
        most = max([self.end, self.start, *(each.offset + 1 for each in self.in_flight)])
        least = self.durable_end if power_cut else self.end
        if power_cut:
            most = max([most, *(offset + 1 for offset in self.stale)])
        if self.truncating_to is not None:
            least = min(least, self.truncating_to)
        while least > log.log_end_offset and least - 1 in self.may_be_gone:
            least -= 1
        assert least <= log.log_end_offset <= most, (
            f"ends at {log.log_end_offset}, not in {least}..{most}"
        )
        assert log.log_start_offset <= self.start, (
            f"starts at {log.log_start_offset}, behind {self.start}"
        )
        assert log.recovery_point <= log.log_end_offset

    def _check_gaps(self, offsets: list[int], log: ManagedLog, power_cut: bool) -> None:
        """None above the start; what was deleted may be back in part.

        Of what was not durable a power cut may take one segment and leave the next, which is
        kept as Kafka keeps it.
        """
        start, end = max(log.log_start_offset, self.start), log.log_end_offset
        missing = set(range(start, end)) - set(offsets) - self.holes
        if power_cut:
            self.holes |= {each for each in missing if each >= self.durable_end}
        assert missing <= self.holes, f"{sorted(missing)} are missing between {start} and {end}"

    def _check_keys(self, kept: list[Record], log: ManagedLog, power_cut: bool) -> None:
        """The latest of each key is there; a key that was deleted does not come back.

        A transaction whose marker a power cut may have taken may end either way: whatever it
        has written is there, and so is what it would supersede.
        """
        end = min(self.durable_end, log.log_end_offset) if power_cut else log.log_end_offset
        records = [record for at, record in self.records.items() if at < end]
        latest, undecided = self._latest(records)
        there, _ = self._latest(kept)
        for key, record in latest.items():
            at = record.offset
            if at < self.start or at in self.may_be_gone:
                continue
            found = there.get(key)
            if record.value is None and found is None:
                continue
            assert found is not None and found.offset >= at, (
                f"key {key!r}: the latest is at {at}, found {found and found.offset}"
            )
        known = {record.offset for record in kept} | self.may_be_gone
        missing = {at for at in undecided if at >= self.start} - known
        assert not missing, f"{sorted(missing)} of open transactions are missing"

    def _latest(self, records: Iterable[Record]) -> tuple[dict[bytes | None, Record], set[int]]:
        """The last committed record of each key, and the offsets that are not decided."""
        ordered = sorted(records, key=lambda each: each.offset)
        aborted, undecided = outcomes_among(ordered, self.transactions)
        latest = {
            record.key: record
            for record in ordered
            if record.offset not in aborted | undecided and not is_marker(record, self.transactions)
        }
        return latest, undecided

    def adopt(self, log: ManagedLog, found: Found, *, power_cut: bool) -> None:
        """Go on from what was found."""
        kept = [record for _, _, records in found for record in records]
        self.boundaries = [header.base_offset for _, header, _ in found]
        lost = [record for at, record in self.records.items() if at >= log.log_end_offset]
        kept_serials = {serial_of(record) for record in kept}
        for record in [*lost, *self.in_flight]:
            self.stale.setdefault(record.offset, set()).add(serial_of(record))
        for record in self.records.values():
            if serial_of(record) not in kept_serials and record.offset >= self.durable_end:
                self.stale.setdefault(record.offset, set()).add(serial_of(record))
        below = {at: r for at, r in self.records.items() if at < self.durable_end}
        if power_cut or not self.config.compact:  # what was deleted may yet come back
            below = {at: r for at, r in below.items() if at < self.start}
        self.records = below | {record.offset: record for record in kept}
        self.may_be_gone = {at for at in self.may_be_gone if at < log.log_end_offset}
        self.end = log.log_end_offset
        self.holes = {at for at in self.holes if at < self.end}
        self.durable_end = min(self.durable_end, self.end)
        self.in_flight, self.truncating_to = [], None
        self.look(log)
