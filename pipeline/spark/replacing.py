"""One file in the place of another, in one step: a kill leaves the one or the other.

To delete the old one and then give the new one its name is two steps, and what was to be kept
through every kill is gone after one between them.
"""

import uuid
from pathlib import Path
from typing import Any

from barnabas.pipeline.spark.failures import causes_of, is_of_spark

UNFINISHED = ".unfinished"


def unfinished_name() -> str:
    """A name for a file beside the one that it is to become; Spark's readers pass over it.

    It does not have the other's name in it, which may be as long as names can be.
    """
    return f".{uuid.uuid4().hex}{UNFINISHED}"


def is_unfinished(name: str) -> bool:
    """Whether a file, by its name or path, is one that a kill has left in the middle."""
    return name.endswith(UNFINISHED)


# --- on this machine -----------------------------------------------------------------------


def write_beside(target: Path, text: str) -> Path:
    """The text in a file beside its place, whose folder is made; nothing where that fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(unfinished_name())
    try:
        unfinished.write_text(text)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    return unfinished


def write_over(target: Path, text: str) -> None:
    """The text in a file, in the place of one before it."""
    write_beside(target, text).replace(target)


# --- through Hadoop ------------------------------------------------------------------------


def rename_over(jvm: Any, configuration: Any, source: Any, target: Any) -> None:
    """Give a file the name of another, which is no more.

    FileSystem's own rename refuses a target that is there; FileContext's takes its place, on HDFS
    in one step. A file system that has no FileContext takes two.
    """
    try:
        context = jvm.org.apache.hadoop.fs.FileContext.getFileContext(target.toUri(), configuration)
    except Exception as error:
        if not _has_no_context(error):
            raise
        files = target.getFileSystem(configuration)
        files.delete(target, False)
        files.rename(source, target)
        return
    context.rename(source, target, _overwriting(jvm))


def _has_no_context(error: Exception) -> bool:
    kinds = {cause.kind for cause in causes_of(error)}
    return is_of_spark(error) and "UnsupportedFileSystemException" in kinds


def _overwriting(jvm: Any) -> Any:
    kind = jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename")
    options = jvm.java.lang.reflect.Array.newInstance(kind, 1)
    options[0] = jvm.org.apache.hadoop.fs.Options.Rename.OVERWRITE
    return options
