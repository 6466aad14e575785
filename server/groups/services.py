"""What serves groups, built together when the first request or record needs it.

Importing all of it takes a tenth of a broker's start, and a broker without groups never does.
"""

from collections.abc import Iterable

from barnabas.server.coordinators.topic import CoordinatedTopic
from barnabas.server.coordinators.writer import Flush, Writer
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.groups.commits import Committing
from barnabas.server.groups.group import Group
from barnabas.server.groups.joining import Joining
from barnabas.server.groups.loading import Replay, install
from barnabas.server.groups.observe import GroupCounts
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.removal import RELEASE_THAT_KEEPS_GROUPS, Removal
from barnabas.server.groups.shard import GroupShard
from barnabas.server.groups.syncing import Syncing
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig


class Services:
    """One of each."""

    def __init__(
        self,
        topic: CoordinatedTopic,
        config: BrokerConfig,
        clock: Clock,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
        counts: GroupCounts,
        log: Log,
    ) -> None:
        self._config = config
        self._clock = clock
        self._log = log
        self.writer = Writer(topic, clock, produces, fetches, flush)
        self.rebalance = Rebalance(config, clock, self.writer, log)
        self.joining = Joining(config, self.rebalance, self.writer)
        self.syncing = Syncing(clock, self.rebalance, self.writer, counts)
        self.committing = Committing(config, self.rebalance.sessions, self.writer, counts)
        self.removal = Removal(config, clock, self.rebalance, self.writer, counts, log)

    def new_group(self, group_id: str, shard: GroupShard) -> Group:
        """An empty group."""
        return Group(group_id, shard, self._clock.now_ms())

    def loaded(self, shard: GroupShard, replay: Replay) -> None:
        """Take over what the shard's log says."""
        keeps_empty = self._config.release >= RELEASE_THAT_KEEPS_GROUPS
        for group in install(shard, replay, keeps_empty=keeps_empty):
            self.removal.remove_topics(group, sorted(shard.deleted_topics))
            self._resume(group)
        if replay.unknown_types or replay.malformed:
            self._log.warn(
                "records were skipped", partition=shard.index, malformed=replay.malformed,
                types=",".join(map(str, sorted(replay.unknown_types))),
            )  # fmt: skip

    def stop(self, groups: Iterable[Group]) -> None:
        """Stop every timer of these groups, and the check for what has expired."""
        self.removal.stop()
        for group in groups:
            self.rebalance.stop(group)

    def _resume(self, group: Group) -> None:
        """Members have their session timeout to come back."""
        for member in group.members.by_id.values():
            self.rebalance.sessions.beat(group, member)
        if len(group.members) > self._config.group_max_size:
            self.rebalance.prepare(group, "the loaded group is over its size")
