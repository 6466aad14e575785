"""What handlers may ask of a broker: the parts that requests are served with.

A handler gets them by `RequestContext.broker`, and hands on what a domain object needs, not all.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from barnabas.server.cluster.features import Features
from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.cluster.producer_ids import ProducerIdPool
from barnabas.server.cluster.topics import Topics
from barnabas.server.controller.office import Controller
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.turns import Turns
from barnabas.server.groups.coordinator import GroupCoordinator
from barnabas.server.network.listener import Population
from barnabas.server.observing.logs import Log
from barnabas.server.observing.metrics import Metrics
from barnabas.server.registry.registry import Registry
from barnabas.server.replication.control import ControlRequests
from barnabas.server.replication.fetch_sessions import FetchSessions
from barnabas.server.replication.fetching.fetchers import Fetchers
from barnabas.server.replication.moving.moves import Moves
from barnabas.server.replication.replicas import Replicas
from barnabas.server.requests.access import Authorizer
from barnabas.server.settings.changes.services import SettingsServices
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.transactions.coordinator import TransactionCoordinator
from barnabas.server.transactions.verification import Verifier
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.api import ApiKey

if TYPE_CHECKING:  # made, and imported, when it is first needed
    from barnabas.server.peers.dialing import Dial
    from barnabas.server.transactions.marker_log import LocalMarkers


class Services(Protocol):
    """One broker, as its handlers see it."""

    authorizer: Authorizer
    broker_id: int
    clock: Clock
    config: BrokerConfig
    control: ControlRequests
    controller: Controller
    dial: "Dial"
    deletions: Delayed
    disks: LogManager
    features: Features
    fetch_sessions: FetchSessions
    fetches: Delayed
    followers: Fetchers
    groups: GroupCoordinator
    log: Log
    metadata: ClusterMetadata
    metrics: Metrics
    moves: Moves
    population: Population
    producer_ids: ProducerIdPool
    produces: Delayed
    registry: Registry
    replicas: Replicas
    settings: SettingsServices
    topics: Topics
    transactions: TransactionCoordinator
    turns: Turns

    @property
    def verifier(self) -> Verifier: ...

    @property
    def advertised_versions(self) -> Mapping[ApiKey, tuple[int, int]]: ...

    @property
    def local_markers(self) -> "LocalMarkers": ...
