from pathlib import Path

from barnabas.storage.file_names import segment_path

from ..logs import a_batch, append, end_transaction, fill, names, open_log


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


def test_what_is_to_be_synced(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(producer_id=1, sequence=0, transactional=True))
    segment = log.active_segment
    assert len(segment.files_to_sync()) == 3
    end_transaction(log, 1, commit=False)
    assert len(segment.files_to_sync()) == 4
    paths = {Path(f"/proc/self/fd/{file.fd}").readlink().name for file in segment.files_to_sync()}
    assert {name[20:] for name in paths} == {".log", ".index", ".timeindex", ".txnindex"}


def test_only_new_names_need_the_directory_synced(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(producer_id=1, sequence=0, transactional=True))
    flush = log.begin_flush()
    assert flush is not None and flush.directory == str(tmp_path / "t-0")
    log.end_flush(flush)
    append(log, a_batch(producer_id=1, sequence=1, transactional=True))
    flush = log.begin_flush()
    assert flush is not None and flush.directory is None
    end_transaction(log, 1, commit=False)
    flush = log.begin_flush()
    assert flush is not None and flush.directory is not None
