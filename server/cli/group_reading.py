"""`barnabas consume --group`: as a member of a group, which shares the partitions out.

What was printed is committed after it was printed: nothing is lost. That is done every second,
when partitions go to other members, and at the end (Ctrl-C and SIGTERM included). After a crash,
or when the group has put this member out, what was printed since the last commit comes again.
"""

import contextlib
import re
import time
from typing import Any

from barnabas.server.cli.failures import Failure
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.liveness import Watch, looking
from barnabas.server.cli.reading import Sink, consuming, polled
from barnabas.server.cli.topics_read import Topics

COMMIT_S = 1.0
JOIN_S = 60.0
ANSWER_MS = 5_000


class Member:
    """This process as a member: what it has, how far that was when it got it, what it took."""

    def __init__(self, consumer: Any, topics: Topics, sink: Sink, most: int | None) -> None:
        self._consumer, self._topics, self._sink, self._still = consumer, topics, sink, most
        self._ends: dict[Any, int] = {}
        self._taken: dict[Any, int] = {}
        self._committed_s = time.monotonic()

    def run(self, watch: Watch, *, follow: bool) -> None:
        """Take records until there are none left (or on and on), or enough."""
        deadline_s = time.monotonic() + JOIN_S
        while self._still != 0:
            found = polled(self._consumer, watch)
            for where, records in found.items():
                self._take(where, records)
            self._sink.flush()
            if time.monotonic() - self._committed_s > COMMIT_S:
                with contextlib.suppress(kafka("errors").KafkaTimeoutError):  # the next one may
                    self.commit()
            if not watch.is_cut_off:
                self._topics.look()
            is_idle = not found and not self._topics.is_one_in_doubt
            if not follow and is_idle and self._is_at_ends():
                self._topics.check()
                return
            if not self._is_member() and time.monotonic() > deadline_s:
                raise Failure(f"the group did not take this member within {JOIN_S:g} s")

    def commit(self) -> None:
        """Commit what was taken and not committed yet; KafkaTimeoutError leaves it to be done."""
        self._committed_s = time.monotonic()
        if offsets := self._uncommitted():
            self._consumer.commit(offsets, timeout_ms=ANSWER_MS)
        self._taken = {}

    async def on_partitions_revoked(self, _: set[Any]) -> None:
        """kafka-python is about to give partitions up: whoever gets them begins where we end.

        Everything polled has been taken by then: it is told within a poll. What cannot be
        committed, since the group has gone on without this member, comes again.
        """
        with contextlib.suppress(kafka("errors").KafkaError):
            await self._consumer._coordinator._commit_offsets_sync_async(
                self._uncommitted(), timeout_ms=ANSWER_MS
            )
        self._taken = {}

    async def on_partitions_assigned(self, _: set[Any]) -> None:
        """Nothing to do."""

    async def on_partitions_lost(self, _: set[Any]) -> None:
        """They are somebody else's already, who has begun where the last commit was."""
        self._taken = {}

    def _mine(self) -> set[Any]:
        found = self._consumer.assignment()
        return {where for where in found if where.topic not in self._topics.gone}

    def _uncommitted(self) -> dict[Any, Any]:
        structs = kafka("structs")
        mine = self._mine()
        return {where: structs.OffsetAndMetadata(offset, "", -1)
                for where, offset in self._taken.items() if where in mine}  # fmt: skip

    def _take(self, where: Any, records: list[Any]) -> None:
        """Each is taken by itself: a signal may come between two of them."""
        for record in records[: self._still]:
            self._sink.take(record)
            self._taken[where] = record.offset + 1
            if self._still is not None:
                self._still -= 1

    def _is_member(self) -> bool:
        return bool(self._consumer._coordinator.generation_if_stable() is not None)

    def _is_at_ends(self) -> bool:
        """Whether all that was in this member's partitions when it got them is read."""
        if not self._is_member():
            return False
        mine = self._mine()
        try:
            if set(self._ends) != mine:
                found = self._consumer.end_offsets(list(mine), ANSWER_MS) if mine else {}
                self._ends = dict(found)
            return all(
                (self._consumer.position(where, ANSWER_MS) or 0) >= end
                for where, end in self._ends.items()
            )
        except kafka("errors").KafkaTimeoutError:
            return False  # a topic is being deleted, or a broker is away: both are looked for


def read_as_member(
    settings: dict[str, Any], topics: list[str], pattern: re.Pattern[str] | None,
    most: int | None, sink: Sink, *, follow: bool,
) -> None:  # fmt: skip
    """Join, take what is this member's, commit, and leave.

    `topics` are those that there are now; with a pattern others may come, and these may go.
    """
    with consuming(settings) as (consumer, watch):
        watched = Topics(consumer, () if pattern and follow else topics, follow=follow)
        member = Member(consumer, watched, sink, most)
        kafka("consumer.subscription_state").AsyncConsumerRebalanceListener.register(Member)
        if pattern is not None:
            consumer.subscribe(pattern=f"^(?:{pattern.pattern})$", listener=member)
        else:
            consumer.subscribe(topics=topics, listener=member)
        with looking(watch.look):
            try:
                member.run(watch, follow=follow)
            finally:
                sink.flush()
                _commit_last(member)


def _commit_last(member: Member) -> None:
    try:
        member.commit()
    except kafka("errors").KafkaTimeoutError as error:
        raise Failure("what was printed last is not committed: no broker answers") from error
