"""Topics' settings in force: their own, as the registry has them, over the broker's.

What is stored was checked when it was written, but perhaps by another release or with a tool
of ZooKeeper's. A value that cannot be used is left out and logged, and the topic lives with the
rest: no stored text keeps a topic from being served.
"""

from collections.abc import Callable, Mapping

from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.server.registry.configs import TOPICS, Configs
from barnabas.server.settings.changes.resources import topic_path
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.log_config import SETTINGS as LOG_SETTINGS
from barnabas.storage.log_config import LogConfig
from barnabas.storage.setting_types import InvalidSetting
from barnabas.wire.error_codes import ErrorCode


class TopicSettings:
    """The settings of topics, read for this broker."""

    def __init__(self, stored: Configs, config: BrokerConfig, log: Log) -> None:
        self._stored = stored
        self._config = config
        self._log = log

    async def read(self, topic: str) -> LogConfig:
        """The settings of a topic's logs."""
        return self._over_broker(topic, await self._stored.read(topic_path(topic)))

    async def is_unclean_allowed(self, topic: str) -> bool:
        """Whether a replica that is not in sync may lead it when no other is left."""
        return (await self.read(topic)).unclean_leader_election_enable

    async def read_all(self) -> Callable[[str], LogConfig]:
        """The settings of every topic's logs, to be asked for by the topic's name."""
        stored = await self._stored.read_all(TOPICS)
        return lambda topic: self._over_broker(topic, stored.get(topic, {}))

    async def read_own(self, topic: str) -> dict[str, str]:
        """A topic's own settings as text, those that can be used."""
        own = await self._stored.read(topic_path(topic))
        return self._usable(topic, own)[1]

    def _over_broker(self, topic: str, own: Mapping[str, str]) -> LogConfig:
        return self._usable(topic, own)[0]

    def _usable(self, topic: str, own: Mapping[str, str]) -> tuple[LogConfig, dict[str, str]]:
        """The settings that result, and which of the topic's own are among them."""
        base, usable = self._config.log_config, dict(own)
        while usable:
            try:
                return base.with_settings(usable, self._config.release), usable
            except InvalidSetting as refusal:
                # Where a setting contradicts one of the broker's, no single one is to blame.
                blamed = [refusal.name] if refusal.name in usable else list(usable)
                for name in blamed:
                    self._log.error(
                        "a topic's setting cannot be used and is left out",
                        topic=topic, setting=name, value=usable.pop(name), why=refusal.reason,
                    )  # fmt: skip
        return base, {}


def check_topic_settings(settings: Mapping[str, str], config: BrokerConfig) -> None:
    """Refuse settings that no topic may have; raises ApiError INVALID_CONFIG."""
    for name in settings:
        known = LOG_SETTINGS.get(name)
        if known is None or config.release not in known.releases:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    try:
        config.log_config.with_settings(settings, config.release)
    except InvalidSetting as refusal:
        raise ApiError(ErrorCode.INVALID_CONFIG, str(refusal)) from None
