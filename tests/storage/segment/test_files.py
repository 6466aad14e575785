from pathlib import Path

from barnabas.storage.file_names import segment_path
from barnabas.storage.log.log import Log

from ..logs import (
    NOW_MS,
    a_batch,
    append,
    end_transaction,
    file_name,
    fill,
    names,
    open_log,
)


def test_paths_are_kafkas() -> None:
    assert segment_path("/d/t-0", 42, ".log") == "/d/t-0/00000000000000000042.log"
    assert segment_path("d", 0, ".txnindex", ".swap") == "d/00000000000000000000.txnindex.swap"


def test_renames_what_there_is(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    segment = log.active_segment
    segment.finish()
    segment.change_suffix("", ".deleted")
    segment.change_suffix(".deleted", ".swap")
    renamed = [name for name in names(tmp_path) if name.endswith(".swap")]
    assert [name.rpartition(".swap")[0][20:] for name in renamed] == [
        ".index",
        ".log",
        ".timeindex",
    ]
    assert [Path(file.path).suffix for file in segment.each_file()] == [".swap"] * 4


def to_sync(log: Log) -> set[str]:
    files = log.active_segment.files_to_sync()
    return {Path(f"/proc/self/fd/{file.fd}").readlink().name[20:] for file in files}


def test_only_what_has_changed_is_to_be_synced(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=1 << 20)
    append(log, a_batch(producer_id=1, sequence=0, transactional=True))
    assert to_sync(log) == {".log"}  # nothing is in the indexes yet
    end_transaction(log, 1, commit=False)
    assert to_sync(log) == {".log", ".txnindex"}
    fill(log, 5)
    assert to_sync(log) == {".log", ".index", ".timeindex", ".txnindex"}
    log.flush()
    fill(log, 1)
    assert to_sync(log) == {".log", ".txnindex"}
    fill(log, 5)
    assert to_sync(log) == {".log", ".index", ".txnindex"}  # no timestamp is larger


def test_all_of_a_segments_files_are_there_from_its_first_batch_on(tmp_path: Path) -> None:
    """Kafka's tools, run beside the broker, look for the indexes of every `.log`."""
    log = open_log(tmp_path)
    assert names(tmp_path) == []
    append(log, a_batch())
    for extension in ("log", "index", "timeindex"):
        assert file_name(0, extension) in names(tmp_path)
    log.roll(NOW_MS)
    for extension in ("log", "index", "timeindex"):
        assert file_name(1, extension) in names(tmp_path)


def test_only_new_names_need_the_directory_synced(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(producer_id=1, sequence=0, transactional=True))
    flush = log.flusher.begin()
    assert flush is not None and flush.directory == str(tmp_path / "t-0")
    log.flusher.end(flush)
    append(log, a_batch(producer_id=1, sequence=1, transactional=True))
    flush = log.flusher.begin()
    assert flush is not None and flush.directory is None
    end_transaction(log, 1, commit=False)
    flush = log.flusher.begin()
    assert flush is not None and flush.directory is not None
