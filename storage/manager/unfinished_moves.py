"""What a crash has left of moves between data directories, settled before any log is opened.

A move fills `<topic>-<partition>.<hex>-future` in another directory, and ends so:

    1. REPLACING is put into it        all of it is durable, and so is the mark
    2. it is renamed to the partition  which lies in two directories now
    3. the old one is set aside        `-delete`
    4. REPLACING is removed            the names of 2 and of 3 are durable, in this order

    after a crash              found                                      what is done
    before 2                   the partition, and a future one            the move goes on
    between 2 and 3            the partition twice, one with the mark     3, 4: the other one goes
    2 and 3, power cut         no partition, a future one with the mark   2, 4: it is renamed
        a directory missing    the same, though there may be one          nothing: the mark stays
    after 3                    the partition with the mark                nothing

The mark stays where 3 failed because the old directory did: when that comes back, with a log that
has not been written to since, it is known which one is true. Kafka does not start then.

What fails here fails the directory it is done in, and no other: the log beside a marked one is
never served, be it that it cannot be set aside.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from barnabas.storage.directory_names import DELETED, FUTURE, TopicPartition, name_with_suffix
from barnabas.storage.disk.fs import exists, remove_path, sync_directory
from barnabas.storage.errors import InconsistentLogDirectory
from barnabas.storage.manager.data_directory import DataDirectory

REPLACING: Final = "replacing"
"""The mark's name. Kafka leaves it alone, as it does every file whose ending it does not know."""

_logger = logging.getLogger(__name__)

Guard = Callable[..., object]
"""Calls a function with arguments; a file error takes the first of them, a directory, offline."""


class _Place(NamedTuple):
    """A directory of a partition: the data directory and the name in it."""

    directory: DataDirectory
    name: str
    partition: TopicPartition

    @property
    def mark(self) -> str:
        return f"{self.directory.path}/{self.name}/{REPLACING}"


Places = dict[TopicPartition, list[_Place]]


def settle_moves(directories: Sequence[DataDirectory], guard: Guard, *, all_work: bool) -> None:
    """Finish or undo what moves have left; where a directory is missing less is known.

    Two logs of a partition of which none is marked stay: to tell them apart is the user's. Raises
    InconsistentLogDirectory where a mark cannot be read, so that the other one may be stale.
    """
    currents: Places = {}
    futures: Places = {}
    for directory in directories:
        guard(directory, _look_into, directory, currents, futures, len(directories) == 1)
    all_work = all_work and all(directory.is_online for directory in directories)
    for partition, places in currents.items():
        if len(places) > 1:
            currents[partition] = _keep_marked(places, guard)
    for partition, places in futures.items():
        here = currents.get(partition, [])
        for place in _keep_one(places, here, guard):
            _do(partial(_go_on, is_elsewhere=bool(here), all_work=all_work), place, guard)


def _look_into(directory: DataDirectory, currents: Places, futures: Places, is_alone: bool) -> None:
    if is_alone and not any(
        name.endswith(FUTURE) for name in directory.fs.list_directory(directory.path)
    ):
        return
    for name, (partition, suffix) in directory.partition_directories():
        if suffix in ("", FUTURE):
            found = futures if suffix else currents
            found.setdefault(partition, []).append(_Place(directory, name, partition))


def _keep_marked(places: list[_Place], guard: Guard) -> list[_Place]:
    """Set aside what the marked one has replaced, even if that is offline itself by now."""
    marks = _marks(places, guard)
    marked = [place for place in places if marks.get(place)]
    if len(marked) != 1:
        _require_known(places, marks)
        return places
    (kept,) = marked
    others = [place for place in places if place is not kept]
    for place in others:
        _do(
            partial(_set_aside, why=f"it was replaced by the one in {kept.directory.path}"),
            place,
            guard,
        )
    if all(place.directory.is_online for place in others):
        _do(_unmark, kept, guard)
    return marked


def _require_known(places: Sequence[_Place], marks: Mapping[_Place, bool]) -> None:
    if len(marks) < len(places):
        paths = " and in ".join(place.directory.path for place in places)
        raise InconsistentLogDirectory(
            f"{places[0].partition} lies both in {paths}, and it cannot be read which is true"
        )


def _keep_one(
    places: Sequence[_Place], currents: Sequence[_Place], guard: Guard
) -> Sequence[_Place]:
    """Of several that are half filled one stays, if it is not where the partition lies."""
    homes = [place.directory for place in currents]
    left = [place for place in places if place.directory not in homes]
    if len(left) > 1:
        marks = _marks(left, guard)
        left.sort(key=lambda place: not marks.get(place))
    for place in places:
        if place not in left:
            _do(partial(_set_aside, why="the partition lies in the same directory"), place, guard)
    for place in left[1:]:
        _do(partial(_set_aside, why="another one is kept"), place, guard)
    return left[:1]


def _go_on(place: _Place, is_elsewhere: bool, all_work: bool) -> None:
    """Let a half filled log be filled further, or be the partition's if that is what it was.

    Neither where the partition may lie in a directory that is missing.
    """
    if is_elsewhere:
        _unmark(place)
    elif all_work and exists(place.directory.fs, place.mark):
        place.directory.rename(place.name, str(place.partition))
        sync_directory(place.directory.fs, place.directory.path)
        _unmark(place._replace(name=str(place.partition)))
        _logger.warning("%s had replaced a log that is not there any more", place.partition)


# --- in one place ---------------------------------------------------------------------------


def _do(step: Callable[[_Place], None], place: _Place, guard: Guard) -> None:
    if place.directory.is_online:
        guard(place.directory, step, place)


def _marks(places: Sequence[_Place], guard: Guard) -> dict[_Place, bool]:
    """Which of them are marked, as far as that can be read."""
    marks: dict[_Place, bool] = {}
    for place in places:
        guard(place.directory, _read_mark, place, marks)
    return marks


def _read_mark(place: _Place, marks: dict[_Place, bool]) -> None:
    marks[place] = exists(place.directory.fs, place.mark)


def _unmark(place: _Place) -> None:
    remove_path(place.directory.fs, place.mark)


def _set_aside(place: _Place, why: str) -> None:
    place.directory.rename(place.name, name_with_suffix(place.partition, DELETED))
    sync_directory(place.directory.fs, place.directory.path)
    _logger.warning("%s/%s is deleted: %s", place.directory.path, place.name, why)
