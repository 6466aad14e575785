"""Random histories of transactions: whatever happens, each takes place everywhere or nowhere.

decided to commit   every record is read, in every partition that is still there, and its
                    offset is committed
decided to abort    none is
nobody was told     all of it or nothing
at the end          nothing is open, and no transactional id is held up
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.core.errors import Unanswered
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.transactions.marker_log import LocalMarkers
from barnabas.server.transactions.markers import EndedTransaction, MarkerSender
from barnabas.server.transactions.services import Services
from barnabas.server.transactions.shard import TransactionShard
from barnabas.server.transactions.states import TransactionState
from barnabas.wire.error_codes import ErrorCode

from .marker_history import DATA, GROUP, Attempt, Client, History

SEEDS = 30
EVENTS = 300
BUSY = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def run(directory: Path, seed: int) -> History:
    history = History(directory, seed)
    try:
        for _ in range(EVENTS):
            history.happens()
        history.heal()
        check(history)
    finally:
        history.close()
    return history


def check(history: History) -> None:
    for transaction in history.transactions.all_transactions():
        assert transaction.state not in BUSY, transaction
    left = [key for key in DATA if key in history.registered]
    for key in left:
        log = history.replicas.require(*key).log
        assert log.last_stable_offset == log.high_watermark == log.log_end_offset, key
    seen = {key: history.committed(key) for key in left}
    written = {value for _, each in history.attempts for _, value in each.values}
    for values in seen.values():
        assert len(values) == len(set(values)), "nothing twice"
        assert written.issuperset(values)
    for client in history.clients:
        own = [attempt for owner, attempt in history.attempts if owner is client]
        took_place = {attempt.number: check_attempt(attempt, seen) for attempt in own}
        check_offset(history, client, own, took_place)


def check_attempt(attempt: Attempt, seen: dict[TopicPartition, list[bytes]]) -> bool | None:
    """Whether it took place; None where nothing tells of it."""
    found = {value in seen[key] for key, value in attempt.values if key in seen}
    assert len(found) <= 1, f"{attempt} took place in part"
    if attempt.outcome is not None:
        assert found <= {attempt.outcome}, attempt
        return attempt.outcome
    assert not found or attempt.asked is not False or found == {False}, attempt
    return found.pop() if found else None


def check_offset(
    history: History, client: Client, own: list[Attempt], took_place: dict[int, bool | None]
) -> None:
    """The committed offset is that of the client's last transaction that took place."""
    group = history.groups.find_for_offsets(GROUP)
    assert group is None or not group.offsets.is_unstable(client.name, 0)
    committed = group and group.offsets.get(client.name, 0)
    found = -1 if committed is None else committed.offset
    numbers = [attempt.number for attempt in own if attempt.offset]
    surely = [number for number in numbers if took_place[number]]
    perhaps = [number for number in numbers if took_place[number] is None]
    assert found in (-1, *surely, *perhaps)
    assert found >= max(surely, default=-1)


@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_every_transaction_takes_place_everywhere_or_nowhere(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 10):
        run(tmp_path / str(seed), seed)


def test_histories_hold_what_they_are_about(tmp_path: Path) -> None:
    """Ends of both kinds that were certain, and some that nobody was told of, with records."""
    outcomes: Counter[bool | None] = Counter()
    for seed in range(10):
        history = run(tmp_path / str(seed), seed)
        outcomes.update(attempt.outcome for _, attempt in history.attempts if attempt.values)
    assert min(outcomes[True], outcomes[False], outcomes[None]) > 10, outcomes


# Faults that would be found.


async def unknown_is_gone(
    sender: MarkerSender, partitions: frozenset[TopicPartition]
) -> frozenset[TopicPartition]:
    """KAFKA-20734."""
    infos = {key: sender._metadata.partition(*key) for key in partitions}
    return frozenset(key for key, info in infos.items() if info and info.leader_id != NO_LEADER)


async def unanswered_is_done(
    sender: MarkerSender, leader_id: int, ended: EndedTransaction, partitions: Any
) -> dict[TopicPartition, ErrorCode]:
    """Whether the request was carried out is not asked."""
    if leader_id == NO_LEADER:
        return {}
    try:
        return dict(await sender._ask(leader_id, ended.marker(partitions)))
    except Unanswered:
        return dict.fromkeys(partitions, ErrorCode.NONE)


def nothing_is_resumed(services: Services, shard: TransactionShard) -> None:
    """Prepared ends are left where they were found."""


def offsets_are_forgotten(local: LocalMarkers, marker: Any, partition: Any) -> ErrorCode:
    """The marker stands in the log, and nobody else hears of it."""
    return ErrorCode.NONE


PLANTED: list[tuple[type, str, Any]] = [
    (MarkerSender, "_still_there", unknown_is_gone),
    (MarkerSender, "_ask_leader", unanswered_is_done),
    (Services, "loaded", nothing_is_resumed),
    (LocalMarkers, "_take_effect", offsets_are_forgotten),
]


@pytest.mark.parametrize(("owner", "name", "fault"), PLANTED, ids=[p[2].__name__ for p in PLANTED])
def test_a_planted_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, fault: Any
) -> None:
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(AssertionError):
        for seed in range(SEEDS):
            run(tmp_path / str(seed), seed)
