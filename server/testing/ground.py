"""What the brokers of a test's cluster stand on: one event loop and its registry, or ZooKeeper."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from barnabas.server.core.clock import Clock
    from barnabas.server.registry.znodes.ensemble import Ensemble
    from barnabas.server.testing.link import Link
    from barnabas.server.testing.loop_thread import LoopThread
    from barnabas.server.testing.member import Member
    from barnabas.server.testing.thread_link import ThreadLink
    from barnabas.server.testing.zookeeper import ZookeeperServer

# Sessions in the process do not depend on a heartbeat that a busy machine is late with.
SESSION_MS: Final = 2_000
ZOOKEEPER_SESSION_MS: Final = 6_000
ADVANCE: Final = "/control/clock/advance"
JUMP: Final = "/control/clock/jump"


class Ground(Protocol):
    """The registry, and the way to brokers on it."""

    links: "list[Link]"
    """All that were made."""

    @property
    def settings(self) -> Mapping[str, str]:
        """What brokers need to be told to stand on it."""

    def open(self, folder: Path) -> None:
        """Start it, with what it keeps in a folder. Raises what kept it from starting."""

    def close(self) -> None:
        """End it, after the brokers."""

    def new_link(self) -> "Link":
        """For one more broker, or the same one again."""

    def advance(self, members: "Sequence[Member]", duration: float | str) -> None:
        """Let time pass for all brokers at once. Raises ValueError."""

    def jump(self, members: "Sequence[Member]", duration: float | str) -> None:
        """Set the date alone of all brokers. Raises ValueError."""


class ThreadGround:
    """Brokers of one event loop, in a thread of the test's process."""

    settings: Final = {"zookeeper.session.timeout.ms": str(SESSION_MS)}

    def __init__(self) -> None:
        self.links: list[Link] = []
        self._clock: Clock | None = None
        self._thread: LoopThread | None = None
        self._ensemble: Ensemble | None = None

    def open(self, folder: Path) -> None:
        """Start the loop and open the registry."""
        from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME, Ensemble
        from barnabas.server.testing.loop_thread import LoopThread

        self._thread = thread = LoopThread().open()
        self._clock = clock = thread.call(_new_clock)
        self._ensemble = Ensemble(
            clock.now_ms, folder / JOURNAL_NAME, monotonic_ms=clock.monotonic_ms
        )

    def close(self) -> None:
        """Close the registry and end the loop."""
        thread, self._thread = self._thread, None
        if thread is not None and self._ensemble is not None:
            thread.call(self._ensemble.close)
            thread.close()

    def new_link(self) -> "Link":
        """To a broker of this loop."""
        from barnabas.server.testing.thread_link import ThreadLink

        assert self._thread is not None
        self.links.append(ThreadLink(self._thread, self._ensemble, self._clock))
        return self.links[-1]

    def advance(self, members: "Sequence[Member]", duration: float | str) -> None:
        """Let time pass for the registry and the brokers, before anything else happens."""
        links = [_thread_link(member) for member in members if member.is_running]

        async def advance() -> None:
            brokers = [link.server for link in links]
            assert self._clock is not None
            for clock in (self._clock, *(broker.clock for broker in brokers)):
                clock.advance(duration)
            for broker in brokers:
                await broker.settle()

        assert self._thread is not None
        self._thread.run(advance())

    def jump(self, members: "Sequence[Member]", duration: float | str) -> None:
        """Set the date alone."""
        links = [_thread_link(member) for member in members if member.is_running]

        def jump() -> None:
            assert self._clock is not None
            for clock in (self._clock, *(link.server.clock for link in links)):
                clock.jump(duration)

        assert self._thread is not None
        self._thread.call(jump)


class ProcessGround:
    """Brokers in child processes, on an Apache ZooKeeper."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.zookeeper: ZookeeperServer | None = None

    @property
    def settings(self) -> Mapping[str, str]:
        """Where ZooKeeper is."""
        assert self.zookeeper is not None
        return {
            "zookeeper.connect": f"{self.zookeeper.address}/barnabas",
            "zookeeper.session.timeout.ms": str(ZOOKEEPER_SESSION_MS),
        }

    def open(self, folder: Path) -> None:
        """Start ZooKeeper. Raises ZookeeperMissing, ZookeeperNotStarted."""
        from barnabas.server.testing.zookeeper import ZookeeperServer

        self.zookeeper = ZookeeperServer(folder / "zookeeper")
        self.zookeeper.start()

    def close(self) -> None:
        """Stop ZooKeeper."""
        if self.zookeeper is not None:
            self.zookeeper.stop()

    def new_link(self) -> "Link":
        """To a broker in a child of its own."""
        from barnabas.server.testing.process_link import ProcessLink

        self.links.append(ProcessLink(remove_data=False))
        return self.links[-1]

    def advance(self, members: "Sequence[Member]", duration: float | str) -> None:
        """Let time pass for one broker after the other, not for ZooKeeper."""
        _tell_all(members, ADVANCE, duration)

    def jump(self, members: "Sequence[Member]", duration: float | str) -> None:
        """Set the date alone."""
        _tell_all(members, JUMP, duration)


def _tell_all(members: "Sequence[Member]", path: str, duration: float | str) -> None:
    """Those that are stopped hear of it when they start."""
    for member in sorted(members, key=lambda member: not member.is_running):
        member.pass_time(path, duration)


def _new_clock() -> "Clock":
    from barnabas.server.core.clock import LoopClock

    return LoopClock(asyncio.get_running_loop(), lambda _: None)  # it has no timers


def _thread_link(member: "Member") -> "ThreadLink":
    from barnabas.server.testing.thread_link import ThreadLink

    assert isinstance(member.link, ThreadLink)
    return member.link
