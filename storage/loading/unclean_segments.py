"""Recovering segments: what the loader does to those that were not closed cleanly."""

import logging
from contextlib import suppress

from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.fs import remove_path, sync_directory
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.loading.job import FAR, LoadJob, LoadReport, TooMuchHere
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState, Windows
from barnabas.storage.segment.recovery import recover_segment
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments

_logger = logging.getLogger(__name__)


class Recovery:
    """The parts of a log being opened, and how to mend them."""

    __slots__ = (
        "_clean_shutdown",
        "_directory",
        "_epochs_are_lost",
        "epochs",
        "files",
        "job",
        "log_end_offset",
        "log_start_offset",
        "most_bytes",
        "producers",
        "recovery_point",
        "report",
        "segments",
        "windows",
    )

    def __init__(self, files: FileCache, job: LoadJob) -> None:
        self.files = files
        self.job = job
        self._directory = job.directory
        self._clean_shutdown = job.clean_shutdown
        self.recovery_point = job.recovery_point
        self.log_start_offset = job.log_start_offset
        self.log_end_offset = job.log_start_offset
        self.segments = Segments()
        self.epochs = LeaderEpochs(files.fs, job.directory)
        self.report = LoadReport()
        self._epochs_are_lost = False
        self.producers = ProducerState(files.fs, job.directory)
        self.windows: Windows = {}
        """Of the producers in what has been recovered. Whoever was not answered when the broker
        died sends all that was on its way again: each of these batches has to be recognised."""
        self.most_bytes = FAR
        """How much may be recovered and replayed here, of one segment and of producers."""

    def _say(self, text: str) -> None:
        self.report.notes.append(text)
        _logger.warning("%s: %s", self._directory, text)

    def _say_damages(self, producers: ProducerState) -> None:
        for damage in producers.damages:
            self._say(damage)
        producers.damages.clear()

    def close_files(self) -> None:
        """Give up the descriptors."""
        for segment in self.segments:
            segment.close()

    def _new_segment(self, base_offset: int, has_aborted: bool = False) -> Segment:
        return Segment(
            self.files,
            self._directory,
            base_offset,
            self.job.config,
            self.job.now_ms,
            has_aborted=has_aborted,
        )

    def _recover(self, segment: Segment) -> int:
        """Check one segment from its start, with the producers as they were before it."""
        if segment.size_bytes > self.most_bytes:
            raise TooMuchHere(segment.size_bytes)
        producers = ProducerState(self.files.fs, self._directory, self.producers.snapshots)
        rebuild_producers(
            producers,
            self.segments,
            self.log_start_offset,
            segment.base_offset,
            self.job.now_ms,
            self.job.producer_id_expiration_ms,
        )
        producers.widen(self.windows)
        following = self.segments.after(segment.base_offset)
        end = FAR if following is None else following.base_offset
        cut = recover_segment(segment, producers, self.epochs, end)
        producers.take_snapshot()
        self.windows = producers.windows()
        self.producers.snapshots = producers.snapshots
        self._say_damages(producers)
        if cut:
            self._say(f"cut {cut} bytes behind offset {producers.map_end_offset}")
        self.report.truncated_bytes += cut
        self.report.recovered_segments.append(segment.base_offset)
        return cut

    def _recover_unflushed(self, unflushed: list[Segment]) -> None:
        for number, segment in enumerate(unflushed):
            following = unflushed[number + 1 :]
            if self._recover(segment) or (
                following and self._has_lost_its_end(segment, following[0])
            ):
                self._drop(following)
                return

    def _has_lost_its_end(self, segment: Segment, following: Segment) -> bool:
        """Whether a power cut took what was not synced, and left what was written after it.

        Kafka keeps what follows: a replica that lacks the records between them, is taken for in
        sync, and may lead one day. Where something was compacted a gap says nothing.
        """
        end, start = segment.read_next_offset(), following.base_offset
        if not self.job.is_contiguous or start <= max(end, self.log_start_offset):
            return False
        self._say(f"offsets {end} to {start - 1} are missing")
        return True

    def _sync_recovered(self) -> None:
        """Make durable what was made anew below the recovery point: no flush will look there."""
        unflushed = []
        if self.recovery_point < self.log_end_offset:
            unflushed = self.segments.between(self.recovery_point, FAR)
        recovered = [
            segment
            for segment in self.segments
            if segment.base_offset in self.report.recovered_segments and segment not in unflushed
        ]
        for segment in recovered:
            segment.sync()
        if recovered:
            sync_directory(self.files.fs, self._directory)

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
                for _, header, _ in read_batches(segment.log_file.open(), 0, segment.size_bytes):
                    if header.partition_leader_epoch > self.epochs.latest_epoch:
                        self.epochs.assign(header.partition_leader_epoch, header.base_offset)
