"""Committing offsets: who may, how they are written, when they take effect.

Members commit in their generation. Without one (generation -1) commits are taken as long as
the group has no members: that is how simple consumers and administrators keep offsets.
Commits of a transaction are written at once and wait for the transaction's end (KIP-98).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.server.coordinators.writer import KeyAndValue, Writer
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.group import Group, GroupState
from barnabas.server.groups.members import Sessions
from barnabas.server.groups.observe import GroupCounts
from barnabas.server.groups.offsets import Commits
from barnabas.server.groups.records import (
    OFFSET_VERSION,
    OFFSET_VERSION_WITH_TOPIC_ID,
    encode_offset,
    encode_offset_key,
)
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.batch.header import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode

NO_GENERATION = -1
RELEASE_WITH_TOPIC_IDS = 4
FIRST_SEQUENCE = 0  # Kafka numbers the records of a commit although they have no producer


class TransactionOf(NamedTuple):
    """Whose transaction a commit belongs to; `guard` if that had to be verified (KIP-890)."""

    producer_id: int
    producer_epoch: int
    guard: VerificationGuard | None = None


NO_TRANSACTION = TransactionOf(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits."""

    generation: int = NO_GENERATION
    member_id: str = ""
    instance_id: str | None = None

    @property
    def is_member(self) -> bool:
        """Whether it claims to be a member of the group."""
        return self.generation >= 0 or self.member_id != "" or self.instance_id is not None


class Committing:
    """Serves commits for one group at a time."""

    def __init__(
        self, config: BrokerConfig, sessions: Sessions, writer: Writer, counts: GroupCounts
    ) -> None:
        self._counts = counts
        self._config = config
        self._sessions = sessions
        self._writer = writer

    def commit(
        self,
        group: Group,
        committer: Committer,
        commits: Commits,
        done: Callable[[ErrorCode], object],
    ) -> None:
        """Write the offsets; `done` is told how it went, perhaps before this returns.

        Raises ApiError if the committer may not.
        """
        self._check(group, committer, is_transactional=False)
        if group.state is not GroupState.EMPTY:
            if group.state is GroupState.COMPLETING_REBALANCE:
                raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
            self._sessions.beat(group, group.members.by_id[committer.member_id])
        offsets = group.offsets

        def take_effect(kept: Commits) -> None:
            for (topic, partition), committed in kept.items():
                offsets.put(topic, partition, committed)

        self._write(group, commits, take_effect, done)

    def commit_in_transaction(
        self,
        group: Group,
        committer: Committer,
        transaction: TransactionOf,
        commits: Commits,
        done: Callable[[ErrorCode], object],
    ) -> None:
        """Write offsets that take effect with the producer's transaction. Raises ApiError."""
        self._check(group, committer, is_transactional=True)

        def wait_for_the_end(kept: Commits) -> None:
            group.offsets.add_transactional(transaction.producer_id, kept)
            open_transactions = group.shard.open_transactions
            open_transactions.setdefault(transaction.producer_id, set()).add(group.group_id)

        self._write(group, commits, wait_for_the_end, done, transaction)

    def _write(
        self,
        group: Group,
        commits: Commits,
        take_in: Callable[[Commits], object],
        done: Callable[[ErrorCode], object],
        transaction: TransactionOf = NO_TRANSACTION,
    ) -> None:
        """Append the offsets; once they are safe `take_in` keeps them, and `done` is told.

        Not those that were removed meanwhile, because their topic was deleted: the record that
        buries them stands behind theirs, and another topic may bear the name by now.
        """
        offsets = group.offsets
        records = self._records(group, commits)  # before anything else: it may raise
        offsets.begin_write(commits)

        def written(error: ErrorCode, log_offset: int) -> None:
            kept = offsets.end_write(commits)
            if error is ErrorCode.NONE:
                self._counts.offset_commit_count += len(commits)
                for committed in commits.values():
                    committed.log_offset = log_offset
                take_in(kept)
            done(error)

        self._writer.append(
            group.shard,
            records,
            written,
            base_sequence=FIRST_SEQUENCE,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            is_transactional=transaction is not NO_TRANSACTION,
            verification_guard=transaction.guard,
        )

    def _check(self, group: Group, committer: Committer, *, is_transactional: bool) -> None:
        if group.is_dead:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if committer.generation < 0 and group.state is GroupState.EMPTY:
            return
        if committer.is_member:
            group.require_member(committer.member_id, committer.instance_id)
            group.require_generation(committer.generation)
        elif not is_transactional and group.state is not GroupState.EMPTY:
            # Old transactional clients do not say who they are; others must be members.
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)

    def _records(self, group: Group, commits: Commits) -> list[KeyAndValue]:
        keeps_ids = self._config.release >= RELEASE_WITH_TOPIC_IDS
        version = OFFSET_VERSION_WITH_TOPIC_ID if keeps_ids else OFFSET_VERSION
        return [
            (encode_offset_key(group.group_id, topic, partition), encode_offset(committed, version))
            for (topic, partition), committed in commits.items()
        ]
