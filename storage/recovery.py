"""Recovering segments: what the loader does to those that were not closed cleanly."""

import logging
from contextlib import suppress

from barnabas.storage.batch_reader import read_batches
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.file_slice import FileCache
from barnabas.storage.fs import remove_path
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_state import LoadReport
from barnabas.storage.producer_rebuild import rebuild_producers
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.segment import Segment
from barnabas.storage.segment_recovery import recover_segment
from barnabas.storage.segments import Segments

_FEW_SEGMENTS = 4
_logger = logging.getLogger(__name__)


class Recovery:
    """The parts of a log being opened, and how to mend them."""

    __slots__ = (
        "_clean_shutdown",
        "_config",
        "_directory",
        "_epochs_are_lost",
        "_expiration_ms",
        "_now_ms",
        "epochs",
        "files",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "recovery_point",
        "report",
        "segments",
    )

    def __init__(
        self,
        files: FileCache,
        directory: str,
        config: LogConfig,
        now_ms: int,
        *,
        clean_shutdown: bool,
        recovery_point: int,
        log_start_offset: int,
        producer_id_expiration_ms: int,
    ) -> None:
        self.files = files
        self._directory = directory
        self._config = config
        self._now_ms = now_ms
        self._clean_shutdown = clean_shutdown
        self._expiration_ms = producer_id_expiration_ms
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_start_offset
        self.segments = Segments()
        self.epochs = LeaderEpochs(files.fs, directory)
        self.report = LoadReport()
        self._epochs_are_lost = False
        self.producers = ProducerState(files.fs, directory)

    def _say(self, text: str) -> None:
        self.report.notes.append(text)
        _logger.warning("%s: %s", self._directory, text)

    def _new_segment(self, base_offset: int, has_aborted: bool = False) -> Segment:
        return Segment(
            self.files,
            self._directory,
            base_offset,
            self._config,
            self._now_ms,
            has_aborted=has_aborted,
        )

    def _recover(self, segment: Segment) -> int:
        """Check one segment from its start, with the producers as they were before it."""
        producers = ProducerState(self.files.fs, self._directory, self.producers.snapshots)
        rebuild_producers(
            producers,
            self.segments,
            self.log_start_offset,
            segment.base_offset,
            self._now_ms,
            self._expiration_ms,
        )
        cut = recover_segment(segment, producers, self.epochs)
        producers.take_snapshot()
        self.producers.snapshots = producers.snapshots
        if cut:
            self._say(f"cut {cut} bytes behind offset {producers.map_end_offset}")
        self.report.truncated_bytes += cut
        self.report.recovered_segments.append(segment.base_offset)
        return cut

    def _recover_unflushed(self, unflushed: list[Segment]) -> None:
        for number, segment in enumerate(unflushed):
            rest = unflushed[number + 1 :]
            if self._recover(segment) or (rest and self._has_lost_its_end(segment, rest)):
                self._drop(rest)
                return

    def _has_lost_its_end(self, segment: Segment, rest: list[Segment]) -> bool:
        """Did a power cut keep the next segment but not all of this one?

        Segments are flushed soon after they are rolled, so few can be concerned. Gaps between
        many of them are those of a topic that used to be compacted and has lost its checkpoint.
        """
        end, following = segment.read_next_offset(), rest[0].base_offset
        if self._config.compact or end == following or len(rest) > _FEW_SEGMENTS:
            return False
        self._say(f"nothing between {end} and {following}")
        return True

    def _drop(self, segments: list[Segment]) -> None:
        fs = self.files.fs
        for segment in segments:
            self._say(f"segment {segment.base_offset} is dropped")
            self.segments.remove(segment.base_offset)
            segment.close()
            for file in segment.each_file():
                remove_path(fs, file.path)
            self.producers.remove_snapshot(segment.base_offset)
            self.report.dropped_segments.append(segment.base_offset)

    def _find_epochs(self) -> None:
        """From the batches themselves, as far as they are batches."""
        for segment in self.segments:
            with suppress(CorruptBatch):
                fd = segment.log_file.open().fd
                for _, header, _ in read_batches(self.files.fs.pread, fd, 0, segment.size_bytes):
                    if header.partition_leader_epoch > self.epochs.latest_epoch:
                        self.epochs.assign(header.partition_leader_epoch, header.base_offset)
