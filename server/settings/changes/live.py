"""What the registry says about settings, in force on this broker now and after every change.

Brokers tell each other of changes by notifications under /config/changes. Every broker watches
them, reads the named entity anew and applies it: a topic's settings to its logs, a broker's to
`BrokerConfig`, whose watchers take it from there. Passes over the notifications follow one
another, so that of two changes the later one is applied last. Source: Kafka's ZkConfigManager
and DynamicBrokerConfig.
"""

import asyncio
import functools
from collections.abc import Callable, Iterable

from barnabas.server.core.clock import Clock
from barnabas.server.observing.logs import Log
from barnabas.server.registry.configs import BROKERS, TOPICS
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.store import SessionState, WatchEvent, ZnodeError
from barnabas.server.settings.changes.resources import broker_path
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.settings.names import ConfigError
from barnabas.server.settings.topics import TOPIC_SETTINGS
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

LOOK_AGAIN_MS = 1_000
INHERITED = frozenset(name for topic in TOPIC_SETTINGS.values() for name, _ in topic.broker)
"""Broker settings that a topic takes over where it has none of its own."""


class LiveSettings:
    """The settings of one broker that the registry decides."""

    def __init__(
        self,
        broker_id: int,
        registry: Registry,
        config: BrokerConfig,
        topic_settings: TopicSettings,
        logs_of: Callable[[str], Iterable[ManagedLog] | None],
        all_logs: LogManager,
        clock: Clock,
        log: Log,
    ) -> None:
        """`logs_of` are a topic's logs here; None: there is no such topic."""
        self._broker_id = broker_id
        self._registry = registry
        self._config = config
        self._topic_settings = topic_settings
        self._logs_of = logs_of
        self._all_logs = all_logs
        self._clock = clock
        self._log = log
        self.on_topic_changed: Callable[[str], object] = lambda topic: None
        """Hears of a topic whose settings are others now."""
        self._pass: asyncio.Task[None] | None = None
        self._is_stopped = False
        self._watch_is_lost = False
        self._looks_again = False  # a timer is set for it
        self._to_apply: dict[str, None] = {}
        """Entities that are known to have changed, in order."""

    async def start(self) -> None:
        """Apply what is stored for brokers, before anything is opened, and watch for changes.

        Topics' settings are read by whoever opens their logs.
        """
        self._registry.store.on_session(self._session_changed)
        await self._registry.configs.changed(self._notified)
        await self._apply_broker(None)
        await self._apply_broker(self._broker_id)

    async def catch_up(self) -> None:
        """Apply every change that has been notified of by now."""
        await asyncio.shield(self._begin_pass(watches=False))

    def stop(self) -> None:
        """Apply nothing any more."""
        self._is_stopped = True
        if self._pass is not None:
            self._pass.cancel()

    def _notified(self, _: WatchEvent) -> None:
        if not self._is_stopped:
            self._begin_pass(watches=True)

    def _session_changed(self, state: SessionState, _: int) -> None:
        """A session that ended took the watch along; what was written since is there to read."""
        if state is SessionState.LOST:
            self._watch_is_lost = True
        elif state is SessionState.ESTABLISHED and self._watch_is_lost:
            self._watch_is_lost = False
            self._look_again()

    def _look_again(self) -> None:
        """A pass has failed, perhaps before it watched: nobody is told of what comes next."""
        self._looks_again = False
        if not self._is_stopped:
            self._begin_pass(watches=True)

    def _begin_pass(self, *, watches: bool) -> asyncio.Task[None]:
        work = self._apply_changes(self._pass, watches)
        self._pass = asyncio.get_running_loop().create_task(work)
        return self._pass

    async def _apply_changes(self, previous: asyncio.Task[None] | None, watches: bool) -> None:
        if previous is not None and not previous.done():
            await asyncio.wait([previous])
        configs = self._registry.configs
        try:
            changed = await configs.changed(self._notified if watches else None)
            self._to_apply.update(dict.fromkeys(changed))
            await self._apply_each()
            if watches:
                await configs.purge_changes(self._clock.now_ms())
        except Exception as error:
            self._failed("changed settings cannot be read", error)

    async def _apply_each(self) -> None:
        """Apply what has changed; what fails keeps nothing behind it waiting."""
        for entity_path in tuple(self._to_apply):
            try:
                await self._apply(entity_path)
            except Exception as error:
                self._failed("changed settings cannot be applied", error, entity=entity_path)
            else:
                del self._to_apply[entity_path]

    def _failed(self, what: str, error: Exception, **facts: object) -> None:
        if isinstance(error, ZnodeError):
            self._log.error(what, **facts, error=error)
        else:
            self._log.unexpected(what, error, **facts)
        if not self._looks_again:
            self._looks_again = True
            self._clock.call_later(LOOK_AGAIN_MS, self._look_again)

    async def _apply(self, entity_path: str) -> None:
        kind, _, name = entity_path.partition("/")
        if kind == TOPICS:
            await self._apply_topic(name)
        elif entity_path == broker_path(None):
            await self._apply_broker(None)
        elif kind == BROKERS and name == str(self._broker_id):
            await self._apply_broker(self._broker_id)

    async def _apply_topic(self, name: str) -> None:
        if self._logs_of(name) is None:
            return
        config = await self._topic_settings.read(name)
        for log in self._logs_of(name) or ():
            log.update_config(config)
        self.on_topic_changed(name)
        self._log.info("a topic's settings changed", topic=name)

    async def _apply_broker(self, broker_id: int | None) -> None:
        path = broker_path(broker_id)
        stored = await self._registry.configs.read(path)
        try:
            if broker_id is None:
                changed = self._config.set_dynamic(default=stored)
            else:
                changed = self._config.set_dynamic(broker=stored)
        except ConfigError as error:  # stored unchecked: by another release, or by a tool
            self._log.error("stored settings cannot be in force", entity=path, why=error)
            return
        if changed:
            self._log.info("settings changed", names=",".join(sorted(changed)))
        if changed & INHERITED:
            await self._apply_all_topics()

    async def _apply_all_topics(self) -> None:
        """A setting changed that topics inherit."""
        config_of = functools.cache(await self._topic_settings.read_all())
        for log in self._all_logs:
            log.update_config(config_of(log.partition.topic))
