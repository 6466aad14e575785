"""Small files and folders on whatever file system Spark knows, through Hadoop's FileSystem.

For what a job keeps beside its data, a few hundred bytes at a time: each call goes through py4j.
Paths are relative to the root that Files was made for, with `/` between their parts.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.pipeline.spark.failures import PipelineError, causes_of, is_of_spark, one_line
from barnabas.pipeline.spark.replacing import (
    is_unfinished,
    rename_over,
    unfinished_name,
    write_over,
)
from barnabas.server.cli.failures import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FileEntry(NamedTuple):
    """A file or a folder."""

    path: str
    size_bytes: int
    is_folder: bool


class Files:
    """A folder, which need not exist yet. Whatever the file system refuses is PipelineError."""

    def __init__(self, spark: "SparkSession", root: str) -> None:
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self.root = str(root).rstrip("/") or "/"
        configuration = context._jsc.hadoopConfiguration()
        self._system = self._do(lambda: self._at("").getFileSystem(configuration))

    def path(self, name: str = "") -> str:
        """The whole path, with the file system's scheme, as Spark's readers take it."""
        return str(self._system.makeQualified(self._at(name)).toString())

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._do(lambda: self._system.exists(self._at(name))))

    def entries(self, folder: str = "", *, recursive: bool = False) -> list[FileEntry]:
        """What a folder holds, sorted; nothing where there is no such folder.

        With `recursive` the files below it, without the folders.
        """
        if not self.exists(folder):
            return []
        found = self._do(lambda: self._listed(folder, recursive=recursive))
        return sorted(entry for entry in found if not is_unfinished(entry.path))

    def read_text(self, name: str) -> str:
        """A whole file of UTF-8."""
        return str(self._do(lambda: self._read(name)))

    def write_text(self, name: str, text: str) -> None:
        """A file that is there whole or not at all; it takes the place of one before it.

        Written beside its place and renamed; what a kill leaves of that is in no list.
        """
        if self._qualified("").getScheme() == "file":
            place = Path(self._qualified(name).getPath())
            self._do(lambda: _write_local(place, text))
            return
        folder = name.rpartition("/")[0]
        beside = f"{folder}/{unfinished_name()}".lstrip("/")
        self._do(lambda: self._write(beside, text))
        configuration = self._system.getConf()
        at, to = self._at(beside), self._at(name)
        self._do(lambda: rename_over(self._jvm, configuration, at, to))

    def rename(self, name: str, to: str) -> None:
        """Give a file or folder another name; that one's folder is made, and it must be free."""
        if self.exists(to):
            raise PipelineError(f"{self.path(to)} is there already")
        self._do(lambda: self._system.mkdirs(self._at(to).getParent()))
        if not self._do(lambda: self._system.rename(self._at(name), self._at(to))):
            raise PipelineError(f"{self.path(name)} cannot be renamed to {self.path(to)}")

    def make_folder(self, name: str) -> None:
        """Make a folder and those above it, where they are not there."""
        self._do(lambda: self._system.mkdirs(self._at(name)))

    def delete(self, name: str) -> bool:
        """Remove a file, or a folder with all in it; False when there was none."""
        return bool(self._do(lambda: self._system.delete(self._at(name), True)))

    # --- parts -----------------------------------------------------------------------------

    def _at(self, name: str) -> Any:
        path = f"{self.root.rstrip('/')}/{name}" if name else self.root
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _qualified(self, name: str) -> Any:
        return self._system.makeQualified(self._at(name)).toUri()

    def _listed(self, folder: str, *, recursive: bool) -> list[FileEntry]:
        base = self.path() + "/"
        if not recursive:
            return [_entry(status, base) for status in self._system.listStatus(self._at(folder))]
        found = []
        remote = self._system.listFiles(self._at(folder), True)
        while remote.hasNext():
            found.append(_entry(remote.next(), base))
        return found

    def _read(self, name: str) -> str:
        stream = self._system.open(self._at(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _write(self, name: str, text: str) -> None:
        stream = self._system.create(self._at(name), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()

    def _do(self, action: Any) -> Any:
        try:
            return action()
        except Exception as error:
            if isinstance(error, OSError) and not is_of_spark(error):
                raise PipelineError(f"{self.root}: {reason_of(error)}") from error
            if not is_of_spark(error):
                raise
            # py4j's own error says only that there was one.
            told = [cause for cause in causes_of(error) if cause.text][-1:]
            reason = f"{told[0].kind}: {one_line(told[0].text)}" if told else type(error).__name__
            raise PipelineError(f"{self.root}: {reason}") from error


def _write_local(place: Path, text: str) -> None:
    # What Hadoop wrote has a checksum beside it; without one it checks nothing.
    place.with_name(f".{place.name}.crc").unlink(missing_ok=True)
    write_over(place, text)


def _entry(status: Any, base: str) -> FileEntry:
    path = str(status.getPath().toString()).removeprefix(base)
    return FileEntry(path, int(status.getLen()), bool(status.isDirectory()))
