"""The files of one segment: `.log`, `.index`, `.timeindex` and `.txnindex`, opened when needed.

All are made by the first append (`.txnindex` by the first aborted transaction) or, for a
segment whose base offset has to outlive a restart, by `create`. A segment that is not in use
holds no descriptor; the file cache lends it one.
"""

from contextlib import suppress

from barnabas.storage.disk.open_files import CachedFile, FileCache, FileSlice, OpenFile
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.file_names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, segment_path
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.time_index import TimeIndex
from barnabas.storage.segment.transaction_index import TransactionIndex

Changes = tuple[int, int, int]


class SegmentFiles:
    """A `.log` file and its three indexes, as files."""

    __slots__ = (
        "_indexes_loaded",
        "_offset_index",
        "_time_index",
        "base_offset",
        "exists",
        "files",
        "is_index_full",
        "log_file",
        "name_changes",
        "size_bytes",
        "synced_name_changes",
        "transaction_index",
    )

    def __init__(
        self,
        files: FileCache,
        directory: str,
        base_offset: int,
        index_bytes: int,
        suffix: str,
        has_aborted: bool,
    ) -> None:
        def path(extension: str) -> str:
            return segment_path(directory, base_offset, extension, suffix)

        self.files = files
        self.base_offset = base_offset
        self.log_file = CachedFile(files, path(LOG))
        self._offset_index = OffsetIndex(files, path(INDEX), base_offset, index_bytes)
        self._time_index = TimeIndex(files, path(TIME_INDEX), base_offset, index_bytes)
        self.transaction_index = TransactionIndex(
            files, path(TRANSACTION_INDEX), base_offset, exists=has_aborted
        )
        self._indexes_loaded = True
        self.is_index_full = False
        self.exists = False
        self.name_changes = 1
        """Counts what has to be in the directory: files made, and files gone, for this segment."""
        self.synced_name_changes = 0
        """What `name_changes` was when a sync of the directory that has ended was begun."""
        self.size_bytes = 0

    def create(self) -> None:
        """Make the files of an empty segment, so that its base offset outlives a restart."""
        self.log_file.create()
        self.exists = True
        self.create_indexes()

    def create_indexes(self) -> None:
        """Make the files of the two indexes with that of the segment, as Kafka does.

        Its tools look for them. They are seldom written, and take no descriptor until then.
        """
        for index in (self._offset_index, self._time_index):
            index.trim()
            index.close()

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index, read and checked on first use; CorruptIndex if it is bad."""
        if not self._indexes_loaded:
            self._load_indexes()
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The time index, read and checked on first use; CorruptIndex if it is bad."""
        if not self._indexes_loaded:
            self._load_indexes()
        return self._time_index

    def _load_indexes(self) -> None:
        self._offset_index.load()
        self._time_index.load()
        if not 0 <= self._offset_index.last_position < max(self.size_bytes, 1):
            raise CorruptIndex(
                f"{self._offset_index.file.path} points past the end of the .log, or before it"
            )
        self._indexes_loaded = True
        self.is_index_full = self._offset_index.is_full or self._time_index.is_full

    @property
    def names_are_durable(self) -> bool:
        """Whether the directory has been synced since a file was made."""
        return self.synced_name_changes == self.name_changes

    def slice(self, position: int, size: int) -> FileSlice:
        """A stretch of the `.log` file to send."""
        file = self.log_file
        return FileSlice(file.opened or file.open(), position, size)

    def files_to_sync(self) -> list[OpenFile]:
        """Write out what is still in memory; the files to sync so that it is durable."""
        files = [self.log_file.open()]
        for index in (self._offset_index, self._time_index):
            if self._indexes_loaded:
                index.spill()
            if index.is_unsynced:
                files.append(index.file.create())
        if self.transaction_index.exists:
            files.append(self.transaction_index.file.open())
        return files

    def sync(self) -> None:
        """Make everything appended so far durable."""
        if self.exists:
            files, changes = self.files_to_sync(), self.changes()
            for file in files:
                file.sync()
            self.synced(changes)

    def changes(self) -> Changes:
        """Counts of what has to be synced but for the `.log`, for `synced` to be told of."""
        return self.name_changes, self._offset_index.writes, self._time_index.writes

    def synced(self, changes: Changes, *, names: bool = False) -> None:
        """A sync has ended that was begun at these counts, of the directory's `names` too."""
        name_changes, offset_writes, time_writes = changes
        if names:
            self.synced_name_changes = max(self.synced_name_changes, name_changes)
        for index, writes in ((self._offset_index, offset_writes), (self._time_index, time_writes)):
            index.synced_writes = max(index.synced_writes, writes)

    def made_elsewhere(self) -> None:
        """Another process has made the indexes anew: nothing of them counts as synced."""
        self.name_changes += 1
        self._offset_index.writes += 1
        self._time_index.writes += 1

    def cut(self, position: int) -> None:
        """Let the `.log` file end at `position`."""
        if self.log_file.size() != position:
            self.log_file.open().truncate(position)
        self.size_bytes = position

    def close(self) -> None:
        """Give up the descriptors; slices keep theirs."""
        self.log_file.close()
        self._offset_index.close()
        self._time_index.close()
        self.transaction_index.close()

    def lose(self) -> None:
        """Give up the descriptors, and refuse to open the files again."""
        self.close()
        for file in self.each_file():
            file.is_lost = True

    def each_file(self) -> tuple[CachedFile, ...]:
        """The four files, whether they exist or not, the `.log` first."""
        return (
            self.log_file,
            self._offset_index.file,
            self._time_index.file,
            self.transaction_index.file,
        )

    def relocate(self, directory: str) -> None:
        """The directory of the files has another name now; open descriptors stay valid."""
        for file in self.each_file():
            file.path = f"{directory}/{file.path.rpartition('/')[2]}"

    def change_suffix(self, old: str, new: str) -> None:
        """Rename the files from one suffix to another; missing ones are passed over."""
        for file in self.each_file():
            path = file.path.removesuffix(old) + new
            with suppress(FileNotFoundError):
                file.rename(path)
            file.path = path
