from pathlib import Path

from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.loading.leftovers import clean_up

from ..logs import a_batch, file_name


def cleaned(folder: Path, *files: str) -> tuple[set[str], list[str]]:
    """Names left after the clean-up, as told and as found, and what it said."""
    for name in files:
        (folder / name).write_bytes(bytes(a_batch(2)) if ".log" in name else b"")
    notes: list[str] = []
    left = clean_up(REAL, str(folder), set(files), notes.append)
    assert left == {path.name for path in folder.iterdir()}
    return left, notes


def test_deleted_files_go_but_those_of_a_raft_snapshot(tmp_path: Path) -> None:
    left, notes = cleaned(
        tmp_path,
        file_name(0, "log.deleted"),
        file_name(0, "snapshot.deleted"),
        file_name(5, "log"),
        "00000000000000000005-0000000001.checkpoint.deleted",
    )
    assert left == {
        file_name(5, "log"), "00000000000000000005-0000000001.checkpoint.deleted"
    }  # fmt: skip
    assert notes == []


def test_a_swap_replaces_the_segments_it_covers(tmp_path: Path) -> None:
    left, notes = cleaned(
        tmp_path,
        *(file_name(0, extension) for extension in ("log.swap", "index.swap", "timeindex.swap")),
        *(file_name(0, extension) for extension in ("log", "index", "timeindex", "txnindex")),
        *(file_name(1, extension) for extension in ("log", "snapshot")),
        *(file_name(2, extension) for extension in ("log", "snapshot")),
        "leader-epoch-checkpoint",
    )
    assert left == {
        *(file_name(0, extension) for extension in ("log", "index", "timeindex")),
        *(file_name(2, extension) for extension in ("log", "snapshot")),
        "leader-epoch-checkpoint",
    }
    assert (tmp_path / file_name(0, "log")).read_bytes() == a_batch(2)
    assert notes == ["a finished compaction is carried through"]


def test_index_files_left_to_rename_follow_their_log(tmp_path: Path) -> None:
    left, _ = cleaned(tmp_path, file_name(0, "log"), file_name(0, "index.swap"))
    assert left == {file_name(0, "log"), file_name(0, "index")}


def test_an_unfinished_compaction_takes_its_swaps_along(tmp_path: Path) -> None:
    left, notes = cleaned(
        tmp_path,
        file_name(4, "log.cleaned"),
        file_name(4, "index.cleaned"),
        file_name(6, "log.swap"),
        file_name(4, "log"),
        file_name(6, "log"),
    )
    assert left == {file_name(4, "log"), file_name(6, "log")}
    assert notes == ["an unfinished compaction is undone"]


def test_swaps_take_their_names_from_the_lowest_on_the_log_first(tmp_path: Path) -> None:
    renamed: list[str] = []

    def rename(source: str, target: str) -> None:
        renamed.append(Path(target).name)
        Path(source).rename(target)

    final = [file_name(base, extension) for base in (0, 7, 20) for extension in ("log", "index")]
    names = {f"{name}.swap" for name in final}
    for name in names:
        (tmp_path / name).write_bytes(bytes(a_batch(2)) if ".log" in name else b"")
    clean_up(FileSystem(rename=rename), str(tmp_path), names, lambda note: None)
    assert renamed == final


def test_a_carrying_through_that_was_broken_off_is_gone_on_with(tmp_path: Path) -> None:
    left, _ = cleaned(
        tmp_path,
        *(file_name(0, extension) for extension in ("log", "index")),
        *(file_name(7, extension) for extension in ("log", "index.swap")),
        *(file_name(20, extension) for extension in ("log.swap", "index.swap")),
    )
    assert left == {
        file_name(base, extension) for base in (0, 7, 20) for extension in ("log", "index")
    }
