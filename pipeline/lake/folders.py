"""A folder of small files beside the data: on this machine, or wherever Spark's paths lead.

Paths are relative to the folder, with slashes. `publish` is what the lake's promises rest on: a
file appears whole or not at all, and of two that publish the same name one is told that it came
second.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.pipeline.spark.failures import PipelineError, is_of_spark
from barnabas.pipeline.spark.replacing import (
    rename_over,
    unfinished_name,
    write_beside,
    write_over,
)
from barnabas.server.cli.failures import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Folder(Protocol):
    """Files by relative path."""

    @property
    def uri(self) -> str:
        """The folder as Spark is told of it."""

    def below(self, path: str) -> Folder:
        """A folder in it."""

    def names(self, path: str = "") -> list[str]:
        """What is in a folder below, sorted; nothing where there is no such folder."""

    def walk(self, path: str = "") -> Iterator[tuple[str, int]]:
        """Every file below, with its size."""

    def exists(self, path: str) -> bool: ...

    def read(self, path: str) -> str:
        """A whole file; FileNotFoundError where there is none."""

    def publish(self, path: str, text: str) -> bool:
        """Write a new file, whole or not at all; False if there is one by that name already."""

    def replace(self, path: str, text: str) -> None:
        """Write a file over what was there: the old one or the new one is there at every moment."""

    def move(self, path: str, target: str) -> None:
        """Give a file its place; the target is not there."""

    def delete(self, path: str) -> None:
        """Remove a file or a folder with all that is in it; of no effect if it is not there."""


def folder_at(spark: SparkSession, path: str | Path) -> Folder:
    """The folder at a path of any file system that Spark knows."""
    jvm: Any = spark.sparkContext._jvm
    hadoop_path = jvm.org.apache.hadoop.fs.Path(str(path))
    files = hadoop_path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    qualified = files.makeQualified(hadoop_path)
    if qualified.toUri().getScheme() == "file":
        return LocalFolder(Path(qualified.toUri().getPath()))
    return HadoopFolder(jvm, files, qualified)


class LocalFolder:
    """A folder of this machine; it needs no JVM."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    @property
    def uri(self) -> str:
        return f"file://{self.root}"  # not as_uri: Hadoop takes a %20 for what it says

    def below(self, path: str) -> LocalFolder:
        return LocalFolder(self.root / path)

    def names(self, path: str = "") -> list[str]:
        with _told(self.root / path):
            try:
                return sorted(found.name for found in (self.root / path).iterdir())
            except (FileNotFoundError, NotADirectoryError):
                return []

    def walk(self, path: str = "") -> Iterator[tuple[str, int]]:
        for folder, _, names in os.walk(self.root / path):
            for name in sorted(names):
                found = Path(folder, name)
                try:
                    size_bytes = found.stat().st_size
                except FileNotFoundError:
                    continue  # moved or deleted since it was listed
                yield found.relative_to(self.root).as_posix(), size_bytes

    def exists(self, path: str) -> bool:
        with _told(self.root / path):
            return (self.root / path).exists()

    def read(self, path: str) -> str:
        with _told(self.root / path, but=FileNotFoundError):
            return (self.root / path).read_text()

    def publish(self, path: str, text: str) -> bool:
        with _told(self.root / path):
            unfinished = write_beside(self.root / path, text)
            try:
                os.link(unfinished, self.root / path)  # unlike a rename, never over another file
            except FileExistsError:
                return False
            finally:
                unfinished.unlink()
            return True

    def replace(self, path: str, text: str) -> None:
        with _told(self.root / path):
            write_over(self.root / path, text)

    def move(self, path: str, target: str) -> None:
        place = self.root / target
        with _told(place):
            place.parent.mkdir(parents=True, exist_ok=True)
        with _told(place, but=FileNotFoundError):
            (self.root / path).rename(place)

    def delete(self, path: str) -> None:
        found = self.root / path
        with _told(found):
            while found.is_dir():
                with suppress(FileNotFoundError):  # another process deletes it, too
                    shutil.rmtree(found)
            found.unlink(missing_ok=True)


@contextmanager
def _told(place: Path, *, but: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    """What the system refuses is a sentence, except what the caller is to judge."""
    try:
        yield
    except but:
        raise
    except OSError as error:
        raise PipelineError(f"{place}: {reason_of(error)}") from error


class HadoopFolder:
    """A folder through Hadoop's FileSystem, whose `rename` refuses a target that is there."""

    def __init__(self, jvm: Any, files: Any, root: Any) -> None:
        self._jvm, self._files, self._root = jvm, files, root

    @property
    def uri(self) -> str:
        return str(self._root.toString())

    def below(self, path: str) -> HadoopFolder:
        return HadoopFolder(self._jvm, self._files, self._path(path))

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, path) if path else self._root

    def names(self, path: str = "") -> list[str]:
        place = self._path(path)
        if not self._files.exists(place):
            return []
        return sorted(str(found.getPath().getName()) for found in self._files.listStatus(place))

    def walk(self, path: str = "") -> Iterator[tuple[str, int]]:
        place = self._path(path)
        if not self._files.exists(place):
            return
        start = len(str(self._root.toUri().getPath()).rstrip("/")) + 1
        found = self._files.listFiles(place, True)
        while found.hasNext():
            status = found.next()
            yield str(status.getPath().toUri().getPath())[start:], int(status.getLen())

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def read(self, path: str) -> str:
        stream = self._opened(path)
        try:
            read = bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()
        return read.decode()

    def _opened(self, path: str) -> Any:
        try:
            return self._files.open(self._path(path))
        except Exception as error:
            if not is_of_spark(error) or self.exists(path):
                raise
            raise FileNotFoundError(f"{self._path(path)} is not there") from error

    def publish(self, path: str, text: str) -> bool:
        unfinished = self._write_unfinished(path, text)
        if not self.exists(path) and self._files.rename(unfinished, self._path(path)):
            return True
        self._files.delete(unfinished, False)
        return False

    def replace(self, path: str, text: str) -> None:
        unfinished = self._write_unfinished(path, text)
        rename_over(self._jvm, self._files.getConf(), unfinished, self._path(path))

    def _write_unfinished(self, path: str, text: str) -> Any:
        folder = path.rpartition("/")[0]
        unfinished = self._path(f"{folder}/{unfinished_name()}".lstrip("/"))
        stream = self._files.create(unfinished, True)
        stream.write(bytearray(text.encode()))
        stream.close()
        return unfinished

    def move(self, path: str, target: str) -> None:
        place = self._path(target)
        self._files.mkdirs(place.getParent())
        if not self.exists(path) or not self._files.rename(self._path(path), place):
            raise FileNotFoundError(f"{path} cannot be moved to {target}")

    def delete(self, path: str) -> None:
        self._files.delete(self._path(path), True)


def move_all(lake: Folder, moves: Iterable[tuple[str, str]]) -> bool:
    """Move what is not at its place yet; False where a file is neither there nor at its source.

    Begun again after a kill, or beside another process that does the same, it comes to the same.
    """
    for source, target in moves:
        if not lake.exists(target):
            try:
                lake.move(source, target)
            except FileNotFoundError:
                if not lake.exists(target):  # nor has another process moved it just now
                    return False
    return True
