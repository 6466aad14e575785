"""The clock of a test's cluster: one time for all of its brokers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.server.testing.cluster import Cluster


class ClusterClock:
    """`cluster.clock`."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster

    def now_ms(self) -> int:
        """What the brokers believe the time to be, in ms since 1970."""
        return self._cluster.running[0].clock.now_ms()

    def advance(self, duration: float | str) -> None:
        """Let `duration` (ms, or words such as "7 days") pass at once. Raises ValueError.

        For the registry of brokers in the process too, so that sessions end; not for ZooKeeper.
        """
        self._cluster.ground.advance(self._cluster.brokers, duration)

    def jump(self, duration: float | str) -> None:
        """Set the date alone, forward or by "-1 day" back. Raises ValueError."""
        self._cluster.ground.jump(self._cluster.brokers, duration)
