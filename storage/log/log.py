"""`Log`: one partition's log as its clients see it.

Its parts are a line of classes, each adding one task to the last, since a compiled class has one
base: `log_state`, `log_read`, `log_offsets`, `log_roll`, `log_cleanup`, `log_truncate`,
`log_flush`, `log_write`, `log_append`. This module ends the line and opens a log (`loader` does
the work).
"""

from typing import Self

from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.loading.job import LoadJob
from barnabas.storage.loading.loader import Loader
from barnabas.storage.log.log_append import LogAppend
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import ProducerEntry


class Log(LogAppend):
    """A partition's log."""

    __slots__ = ()

    @classmethod
    def open(
        cls,
        directory: str,
        topic_partition: str,
        config: LogConfig,
        now_ms: int,
        *,
        clean_shutdown: bool = True,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        fs: FileSystem = REAL,
        files: FileCache | None = None,
        producer_id_expiration_ms: int = 86_400_000,
        full_validation: bool = False,
        obeys_message_format: bool = False,
    ) -> Self:
        """Open the log in `directory`, which exists, mending what a crash has left.

        `recovery_point` and `log_start_offset` come from the data directory's checkpoints.
        `load_report` says what was mended. Raises OSError if the disk fails.
        """
        job = LoadJob(
            directory,
            config,
            now_ms,
            clean_shutdown,
            recovery_point,
            log_start_offset,
            producer_id_expiration_ms,
        )
        loader = Loader(FileCache(fs) if files is None else files, job)
        loader.load()
        return cls.of(
            loader,
            topic_partition,
            full_validation=full_validation,
            obeys_message_format=obeys_message_format,
        )

    @classmethod
    def of(
        cls,
        loader: Loader,
        topic_partition: str,
        *,
        full_validation: bool = False,
        obeys_message_format: bool = False,
    ) -> Self:
        """The log that a loader has opened."""
        job = loader.job
        log = cls(
            loader.files,
            job.directory,
            topic_partition,
            job.config,
            loader.producers,
            loader.epochs,
            loader.segments,
            full_validation=full_validation,
            obeys_message_format=obeys_message_format,
        )
        log.log_start_offset = loader.log_start_offset
        log.log_end_offset = loader.log_end_offset
        log.recovery_point = loader.recovery_point
        log.high_watermark = loader.log_start_offset
        log.producer_id_expiration_ms = job.producer_id_expiration_ms
        log.load_report = loader.report
        log._update_first_unstable_offset()
        return log

    def producer_entries(self) -> list[ProducerEntry]:
        """What is known of every producer (DescribeProducers)."""
        return list(self.producers.producers.values())

    def remove_expired_producers(self, now_ms: int) -> list[int]:
        """Forget idle producers (`producer.id.expiration.ms`): their ids."""
        self.verification.remove_expired(now_ms, self.producer_id_expiration_ms)
        return self.producers.remove_expired(now_ms, self.producer_id_expiration_ms)
