"""`barnabas log dump`: the rows of every file a path stands for, printed."""

from collections.abc import Iterator
from pathlib import Path

from barnabas.server.cli.log_tools.files import Kind, LogFile, find_files
from barnabas.server.cli.log_tools.output import emitter
from barnabas.server.cli.log_tools.rows import rows_of
from barnabas.server.cli.log_tools.segment_rows import Options, Row

_NOT_COUNTED = ("file", "error")


def dump(path: Path, options: Options, *, as_json: bool, most: int | None) -> bool:
    """Print the content of a path; False if something in it is damaged.

    Stops after `most` rows, of a segment's after as many records. Raises BadPath, OSError.
    """
    emit = emitter(as_json=as_json)
    is_sound = True
    for row in _limited(_all_rows(path, options), options, most):
        is_sound = is_sound and row["type"] != "error"
        emit(row)
    return is_sound


def _all_rows(path: Path, options: Options) -> Iterator[Row]:
    files = find_files(path)
    for number, file in enumerate(files):
        if not _ends_below(file, files[number + 1 :], options.offset):
            yield {"type": "file", "file": file.name, "size_bytes": file.path.stat().st_size}
            yield from rows_of(file, options)


def _ends_below(file: LogFile, following: list[LogFile], offset: int) -> bool:
    """Whether the next segment of the same log begins at or below the offset wanted."""
    if file.kind is not Kind.LOG or not following:
        return False
    after = following[0]
    same_log = after.kind is Kind.LOG and after.topic_partition == file.topic_partition
    return same_log and after.base_offset <= offset


def _limited(rows: Iterator[Row], options: Options, most: int | None) -> Iterator[Row]:
    not_counted = (*_NOT_COUNTED, "batch") if options.with_records else _NOT_COUNTED
    count = 0
    for row in rows:
        yield row
        count += row["type"] not in not_counted
        if count == most:
            return
