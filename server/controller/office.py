"""The office of controller: standing for it, holding it, losing it.

One broker of a cluster holds it, by the ephemeral znode /controller, which every broker watches.
Whoever holds it decides (`decisions`): what happens in the registry (a topic appears, grows, is
marked for deletion; a broker comes or goes) arrives as an event on one queue, and what is decided
is written back, fenced by the controller's epoch, and told to the brokers. The others wait to be
told, and for the office to be free.

An event that fails is served again (`retried_events`). When the office is lost, because another
broker has been elected or because the session with the registry has ended, all events go, and
this broker stands for election again.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from barnabas.server.cluster.features import Features
from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.controller.channels import Channels
from barnabas.server.controller.decisions import Decisions
from barnabas.server.controller.leading import IsUncleanAllowed
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.server.registry.bodies import ProducerIdBlock
from barnabas.server.registry.controller import ActiveController, ControllerEpoch
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import (
    ConnectionLoss,
    SessionExpired,
    SessionState,
    WatchEvent,
)
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

NO_CONTROLLER = -1
T = TypeVar("T")


class Controller:
    """The controller's side of this broker: decides if elected, follows if not."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        metadata: ClusterMetadata,
        features: Features,
        channels: Channels,
        clock: Clock,
        log: Log,
        *,
        config: BrokerConfig,
        rejoin: Callable[[], Awaitable[None]],
        is_unclean_allowed: IsUncleanAllowed,
    ) -> None:
        """`rejoin` registers the broker anew if its session with the registry has ended."""
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
        self._begins_anew = False  # with the next session
        self._has_learned = False  # how things stand, in the role that it has now
        self.epoch: ControllerEpoch | None = None
        self.decisions = Decisions(
            broker_id, registry, channels, log, self._events, lambda: self.epoch,
            config=config, clock=clock, is_unclean_allowed=is_unclean_allowed,
            name_of=metadata.name_of,
        )  # fmt: skip

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller."""
        return self.epoch is not None

    async def in_turn(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """What comes of work that is the controller's, done between its events.

        Raises ApiError NOT_CONTROLLER, also if the office is lost before it is done, or has been
        taken up without learning how things stand, which is tried again.
        """
        if not self.is_active:
            raise ApiError(ErrorCode.NOT_CONTROLLER)

        async def work_if_learned() -> T:
            if not self._has_learned:
                raise ApiError(ErrorCode.NOT_CONTROLLER)
            return await work()

        try:
            return await self._events.ask(what, work_if_learned)
        except ControllerMoved:
            raise ApiError(ErrorCode.NOT_CONTROLLER) from None

    async def controlled_shutdown(
        self, request: ControlledShutdownRequest
    ) -> ControlledShutdownResponse:
        """Relieve a broker that wants to stop. Raises ApiError STALE_CONTROLLER_EPOCH."""
        relieve = partial(self.decisions.shutdowns.relieve, request.broker_id, request.broker_epoch)
        try:
            left = await self.in_turn("relieve a broker that stops", relieve)
        except ApiError as error:
            if error.code is ErrorCode.NOT_CONTROLLER:
                raise ApiError(ErrorCode.STALE_CONTROLLER_EPOCH) from None
            raise
        return ControlledShutdownResponse(
            remaining_partitions=[
                RemainingPartition(topic_name=topic, partition_index=index) for topic, index in left
            ]
        )

    async def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> ProducerIdBlock:
        """The next block of producer ids, for a broker.

        Raises ApiError NOT_CONTROLLER, BROKER_ID_NOT_REGISTERED, STALE_BROKER_EPOCH, and what the
        registry raises.
        """
        if not self.is_active:
            raise ApiError(ErrorCode.NOT_CONTROLLER)
        registered = self.decisions.epochs().get(broker_id)
        if registered is None:
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED)
        if registered != broker_epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        return await self._registry.producer_ids.next_block(broker_id)

    def settings_changed(self, topic: str | None = None) -> None:
        """A topic's settings, or without a name all topics', are others now."""
        if self.is_active:
            self.decisions.settings_changed(topic)

    async def start(self) -> None:
        """Stand for election; who wins gives all partitions their leaders."""
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
        self.decisions.forget_events()
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
        self.decisions.forget_events()
        self.epoch = None

    # The office.

    async def _stand(self) -> None:
        """Become controller, or learn who is and wait for the office to be free."""
        await self._rejoin()
        active = await self._registry.controller.read(self._office_changed)
        if self.epoch is not None and not self._is_own(active):
            self._step_down("another broker has been elected, or the office was taken away")
        if self.epoch is None and (active is None or self._is_own(active)):
            active = await self._run_for_office()
        self._metadata.controller_id = active.broker_id if active else NO_CONTROLLER
        if active is None:
            self._events.put("stand for election", self._stand)
        if not self._has_learned:
            await self._learn()

    async def _learn(self) -> None:
        self._has_learned = True  # until the office or the session ends, which may be meanwhile
        try:
            await self._learn_features()
            if self.epoch is not None:
                await self.decisions.learn()
            else:
                self.decisions.are_anothers()
        except BaseException:
            self._has_learned = False
            raise

    async def _learn_features(self) -> None:
        await self._features.learn(is_controller=self.epoch is not None)

    async def _run_for_office(self) -> ActiveController | None:
        """Try to be elected; who is controller then."""
        controllers = self._registry.controller
        self.epoch = await controllers.elect(self._broker_id, self._clock.now_ms())
        if self.epoch is not None:
            self._has_learned = False
            self._log.info("became controller", epoch=self.epoch.epoch)
        return await controllers.read()

    def _is_own(self, active: ActiveController | None) -> bool:
        return active is not None and active.session_id == self._registry.store.session_id

    def _lose_office(self, why: ControllerMoved) -> None:
        """Decide nothing any more, and stand again."""
        self._step_down(why)
        self._events.put("stand for election", self._stand)

    def _step_down(self, why: object) -> None:
        if self.epoch is not None:
            self._log.error("lost the office of controller", why=why)
        self._leave_office()

    def _leave_office(self) -> None:
        self.epoch = None
        self._metadata.controller_id = NO_CONTROLLER
        self._has_learned = False
        self._events.clear()
        self.decisions.forget_events()

    def _session_changed(self, state: SessionState, _: int) -> None:
        """A session that ended took the registration, the office and all watches with it.

        What failed for want of a session need not wait once there is one.
        """
        if not self._is_running:
            return
        if state is SessionState.LOST:
            self._leave_office()
            self.decisions.begin_anew()
            self._begins_anew = True
        elif state is SessionState.ESTABLISHED:
            self._events.hurry()
            if self._begins_anew:
                self._begins_anew = False
                self._events.put("register again and stand for election", self._stand)

    def _features_changed(self, _: WatchEvent) -> None:
        self._events.put("learn the finalized features", self._learn_features)

    def _office_changed(self, _: WatchEvent) -> None:
        self._events.put("stand for election", self._stand)
