"""The controller: one event at a time in, leaders and partition states out.

What happens in the registry (a topic appears, grows, is marked for deletion; a broker comes or
goes; the office is free) arrives as an event on one queue; decisions are pure functions; results
are written back to the registry, fenced by the controller's epoch, and handed to this broker by
a direct call. Brokers that are not the controller run the same queue and follow: they watch the
states that the controller writes. Kafka's requests to other brokers (LeaderAndIsr,
UpdateMetadata, StopReplica) take that place when replication comes.

An event that fails is served again (`retried_events`). When the office is lost, because another
broker has been elected or because the session with the registry has ended, all events go, and
this broker stands for election again.
"""

from collections.abc import Awaitable, Callable

from barnabas.server.cluster.features import Features
from barnabas.server.cluster.hosted_topics import HostedTopics, TopicSink
from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.cluster.retried_events import RetriedEvents
from barnabas.server.core.clock import Clock
from barnabas.server.observing.logs import Log
from barnabas.server.registry.controller import ActiveController, ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import (
    ConnectionLoss,
    SessionExpired,
    SessionState,
    WatchEvent,
)

NO_CONTROLLER = -1


class Controller:
    """The controller's side of this broker: decides if elected, follows if not."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        metadata: ClusterMetadata,
        features: Features,
        sink: TopicSink,
        clock: Clock,
        log: Log,
        *,
        rejoin: Callable[[], Awaitable[None]],
    ) -> None:
        """`rejoin` registers the broker anew when its session with the registry has ended."""
        self._broker_id = broker_id
        self._registry = registry
        self._metadata = metadata
        self._features = features
        features.on_change = self._features_changed
        self._clock = clock
        self._log = log
        self._rejoin = rejoin
        self._events = RetriedEvents(clock, log, self._lose_office)
        self._is_running = False
        self._is_registered = True  # `start` comes after that
        self._knows_topics = False  # all of them, in the role that it has now
        self.epoch: ControllerEpoch | None = None
        self._topics = HostedTopics(
            broker_id, registry, metadata, sink, log, self._events, lambda: self.epoch
        )

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self.epoch is not None

    async def start(self) -> None:
        """Stand for election; whoever wins, know all topics."""
        self._registry.store.on_session(self._session_changed)
        self._is_running = True
        try:
            await self._stand()
        except ControllerMoved as error:
            self._lose_office(error)
        self._events.start()

    async def stop(self) -> None:
        """Serve no more events, then resign."""
        self._is_running = False
        await self._events.stop()
        if self.epoch is not None:
            epoch, self.epoch = self.epoch, None
            try:
                await self._registry.controller.resign(epoch)
            except (ControllerMoved, ConnectionLoss, SessionExpired) as error:
                # Lost before it was given up, or out of reach: then it ends with the session.
                self._log.warn("the office of controller was not given up", why=error)

    def abandon(self) -> None:
        """Stop at once, as a crash would."""
        self._is_running = False
        self._events.abandon()
        self.epoch = None

    # The office.

    async def _stand(self) -> None:
        """Become controller, or learn who is and wait for the office to be free."""
        if not self._is_registered:
            await self._rejoin()
            self._is_registered = True
        active = await self._registry.controller.read(self._office_changed)
        if self.epoch is not None and not self._is_own(active):
            self._step_down("another broker has been elected, or the office was taken away")
        if self.epoch is None and (active is None or self._is_own(active)):
            active = await self._run_for_office()
        self._metadata.controller_id = active.broker_id if active else NO_CONTROLLER
        if active is None:
            self._events.put("stand for election", self._stand)
        if not self._knows_topics:
            await self._learn_topics()

    async def _learn_topics(self) -> None:
        self._knows_topics = True  # until the office or the session ends, which may be meanwhile
        try:
            await self._learn_features()
            await self._topics.learn()
        except BaseException:
            self._knows_topics = False
            raise

    async def _learn_features(self) -> None:
        await self._features.learn(is_controller=self.epoch is not None)

    async def _run_for_office(self) -> ActiveController | None:
        """Try to be elected; who is controller then."""
        controllers = self._registry.controller
        self.epoch = await controllers.elect(self._broker_id, self._clock.now_ms())
        if self.epoch is not None:
            self._knows_topics = False
            self._log.info("became controller", epoch=self.epoch.epoch)
        return await controllers.read()

    def _is_own(self, active: ActiveController | None) -> bool:
        return active is not None and active.session_id == self._registry.store.session_id

    def _lose_office(self, why: ControllerMoved) -> None:
        """Decide nothing any more, and stand again."""
        self._step_down(why)
        self._events.put("stand for election", self._stand)

    def _step_down(self, why: object) -> None:
        self._log.error("lost the office of controller", why=why)
        self._leave_office()

    def _leave_office(self) -> None:
        self.epoch = None
        self._metadata.controller_id = NO_CONTROLLER
        self._knows_topics = False
        self._events.clear()
        self._topics.forget_events()

    def _session_changed(self, state: SessionState, _: int) -> None:
        """A session that ended took the registration, the office and all watches with it."""
        if state is not SessionState.LOST or not self._is_running:
            return
        self._leave_office()
        self._is_registered = False
        self._topics.begin_anew()
        self._events.put("register again and stand for election", self._stand)

    def _features_changed(self, _: WatchEvent) -> None:
        self._events.put("learn the finalized features", self._learn_features)

    def _office_changed(self, _: WatchEvent) -> None:
        self._events.put("stand for election", self._stand)
