"""A broker of a test's cluster: `barnabas.Broker`, on the cluster's registry."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from barnabas.server.testing.broker import Broker

if TYPE_CHECKING:
    from barnabas.server.testing.abandoned import Watch
    from barnabas.server.testing.cluster import Cluster
    from barnabas.server.testing.ground import Ground
    from barnabas.server.testing.link import Link


class Member(Broker):
    """One broker of a `barnabas.Cluster`, which makes it and ends it.

    `stop` and `kill` keep its data and its port for `start`. The others count a broker that was
    killed until its session with the registry is over.
    """

    def __init__(
        self, broker_id: int, cluster: "Cluster", ground: "Ground", settings: Mapping[str, object]
    ) -> None:
        super().__init__(settings, process=cluster.process)
        self.broker_id = broker_id
        self._cluster = cluster  # which lives as long as somebody has one of its brokers
        self._ground = ground
        self._own_dir = False  # it is the cluster's
        self._missed: list[tuple[str, float | str]] = []

    def __repr__(self) -> str:
        state = "running" if self.is_running else "stopped"
        where = f" on {self.bootstrap_servers}" if self._link is not None else ""
        return f"<broker {self.broker_id}{where}, {state}>"

    @property
    def is_open(self) -> bool:
        """Whether it can be given commands, running or not."""
        return self._link is not None and self._link.is_open

    @property
    def is_running(self) -> bool:
        """Whether it serves."""
        return self.is_open and bool(self.state()["running"])

    def state(self) -> dict[str, Any]:
        """What `GET /control/broker` tells."""
        found: dict[str, Any] = self.ask("GET", "/control/broker")
        return found

    def start(self) -> Self:
        """Start, or bring it back; the cluster's time is its own then."""
        super().start()
        missed, self._missed = self._missed, []
        for path, duration in missed:
            self.ask("POST", path, duration=duration)
        return self

    def pass_time(self, path: str, duration: float | str) -> None:
        """Move the clock, at the next start if it does not run. Raises ValueError."""
        if self.is_running:
            called = f"clock.{path.rpartition('/')[2]}"
            self.command(called, "POST", path, duration=duration)
        else:
            self._missed.append((path, duration))

    def stop(self) -> None:
        """Stop in good order; harmless while it does not run."""
        if self.is_open:
            self.ask("POST", "/control/broker/stop")

    def end(self) -> None:
        """Stop for good, with all that ran it."""
        super().stop()

    def live_in(self, folder: Path) -> None:
        """Before the first start: where the logs are."""
        self._data_dir = folder

    def _new_watch(self, link: "Link") -> "Watch | None":
        return None  # the cluster has one

    def _make_link(self) -> "Link":
        return self._ground.new_link()

    def _all_settings(self) -> dict[str, str]:
        first = super()._all_settings()
        return {**self._ground.settings, **first, "broker.id": str(self.broker_id)}
