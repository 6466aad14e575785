"""What becomes of a log when a file call fails.

An `OSError` becomes `LogDirectoryFailed`: after it nothing is known of what is on the disk, so
the directory's logs are not to be used again.
"""

from typing import NoReturn

from barnabas.storage.errors import LogDirectoryFailed, TooManyOpenFiles, is_out_of_descriptors
from barnabas.storage.log.listener import LogListener
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.segment.segments import Segments


class FailureChannel:
    """Where the parts of one log take the errors of the disk."""

    __slots__ = ("_directory", "_epochs", "_listener", "_segments", "_topic_partition")

    def __init__(
        self,
        directory: str,
        topic_partition: str,
        segments: Segments,
        epochs: LeaderEpochs,
        listener: LogListener,
    ) -> None:
        self._directory = directory
        self._topic_partition = topic_partition
        self._segments = segments
        self._epochs = epochs
        self._listener = listener

    def relocate(self, directory: str) -> None:
        """The log's directory has another name now."""
        self._directory = directory

    def fail(self, error: OSError) -> NoReturn:
        """Raise TooManyOpenFiles for a want of descriptors, which passes.

        For everything else the files are given up, the owner is told, and LogDirectoryFailed
        raised.
        """
        if is_out_of_descriptors(error):
            raise TooManyOpenFiles(
                f"{self._directory}: {error}", topic_partition=self._topic_partition
            ) from error
        self._listener.failed(error)
        self.lose_files()
        raise LogDirectoryFailed(
            f"{self._directory}: {error}", topic_partition=self._topic_partition
        ) from error

    def lose_files(self) -> None:
        """Give up the descriptors for good: nothing is read or written from now on.

        After a failed fsync pages count as clean that never reached the disk: what would be
        appended behind them, and synced without complaint, would be acknowledged for nothing.
        """
        for segment in self._segments:
            segment.lose()
        self._epochs.lose()
