"""What serves the requests that describe and alter settings."""

from collections.abc import Container
from dataclasses import dataclass

from barnabas.server.registry.configs import Configs
from barnabas.server.settings.changes.live import LiveSettings
from barnabas.server.settings.changes.log_levels import LogLevels
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig


@dataclass(frozen=True, slots=True)
class SettingsServices:
    """One of each; `topics` holds the names of those that exist."""

    broker_id: int
    config: BrokerConfig
    topics: Container[str]
    stored: Configs
    topic_settings: TopicSettings
    live: LiveSettings
    log_levels: LogLevels
