"""What serves groups, built together when the first request or record needs it.

Importing all of it takes a tenth of a broker's start, and a broker without groups never does.
"""

from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.groups.cleanup import Cleanup
from barnabas.server.groups.commits import Committing
from barnabas.server.groups.counts import GroupCounts
from barnabas.server.groups.group import Group
from barnabas.server.groups.joining import Joining
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.shards import Shard
from barnabas.server.groups.syncing import Syncing
from barnabas.server.groups.writer import Flush, Writer
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig


class Services:
    """One of each."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
        counts: GroupCounts,
        log: Log,
    ) -> None:
        self._clock = clock
        self.writer = Writer(config, clock, produces, fetches, flush)
        self.rebalance = Rebalance(config, clock, self.writer, log)
        self.joining = Joining(config, self.rebalance, self.writer)
        self.syncing = Syncing(clock, self.rebalance, self.writer, counts)
        self.committing = Committing(config, self.rebalance.sessions, self.writer, counts)
        self.cleanup = Cleanup(config, clock, self.rebalance, self.writer, counts, log)

    def new_group(self, group_id: str, shard: Shard) -> Group:
        """An empty group."""
        return Group(group_id, shard, self._clock.now_ms())
