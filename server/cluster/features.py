"""Finalized features (KIP-584): what all brokers of the cluster do alike, and at which level.

`transaction.version` (KIP-890) is the one there is: 0 and 1 are transactions as clients have
known them, 1 with records that have room for more; with 2 every transaction raises its
producer's epoch, and clients add partitions by writing to them. Clients look at the level in
ApiVersions and behave accordingly, so it is told only where the broker poses as a release that
has it.

Levels are kept in /feature; every broker watches it. A new tree gets the newest levels, one that
was made before there were any has none: level 0, until somebody raises it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from barnabas.server.core.errors import ApiError
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.cluster import NO_FEATURES, FinalizedFeatures
from barnabas.server.registry.cluster import Cluster as RegisteredCluster
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.znodes.store import WatchEvent
from barnabas.wire.error_codes import ErrorCode

TRANSACTION_VERSION: Final = "transaction.version"
NO_LEVEL: Final = 0


class FeatureRange(NamedTuple):
    """The levels that a broker can work at."""

    lowest: int
    highest: int


Ranges = Mapping[str, FeatureRange]
SUPPORTED: Final[Ranges] = {TRANSACTION_VERSION: FeatureRange(0, 2)}


UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
UPGRADE_TYPES: Final = frozenset((UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE))


class FeatureUpdate(NamedTuple):
    """A wish for a feature's level; 0 takes the feature away."""

    name: str
    level: int
    upgrade_type: int


def judge(
    update: FeatureUpdate,
    levels: Mapping[str, int],
    supported: Ranges,
    brokers: Iterable[BrokerRegistration],
) -> None:
    """Raise ApiError unless the level may be set, on top of `levels`, with these brokers alive.

    INVALID_REQUEST for what makes no sense, INVALID_UPDATE_VERSION for what cannot be (Kafka's
    FeatureControlManager.updateFeature).
    """
    name, level = update.name, update.level
    if update.upgrade_type not in UPGRADE_TYPES:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The upgrade type is unknown.")
    if name not in supported:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION, f"This broker does not know the feature {name}."
        )
    if level < 0:
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"{level} is no level of a feature.")
    lowest, highest = supported[name]
    if not lowest <= level <= highest:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"{name} goes from {lowest} to {highest}, {level} is not supported.",
        )
    _judge_direction(update, levels.get(name, NO_LEVEL))
    _judge_brokers(update, brokers)


def _judge_direction(update: FeatureUpdate, now: int) -> None:
    is_upgrade = update.upgrade_type == UPGRADE
    if update.level < now and is_upgrade:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"{update.name} is {now}: {update.level} is a downgrade, which has to be asked for.",
        )
    if update.level > now and not is_upgrade:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"{update.name} is {now}: {update.level} is no downgrade.",
        )


def _judge_brokers(update: FeatureUpdate, brokers: Iterable[BrokerRegistration]) -> None:
    for broker in brokers:
        _, highest = broker.features.get(update.name, (NO_LEVEL, NO_LEVEL))
        if update.level > highest:
            raise ApiError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Broker {broker.broker_id} supports {update.name} up to {highest} only.",
            )


def with_update(levels: Mapping[str, int], update: FeatureUpdate) -> dict[str, int]:
    """The levels after an update."""
    changed = {name: level for name, level in levels.items() if name != update.name}
    if update.level > NO_LEVEL:
        changed[update.name] = update.level
    return changed


class Features:
    """The cluster's levels as this broker knows them."""

    def __init__(self, cluster: RegisteredCluster, supported: Ranges) -> None:
        """`supported` is what this broker can do, empty if it poses as one without features."""
        self._cluster = cluster
        self.supported = supported
        self.finalized: FinalizedFeatures = NO_FEATURES
        self.transaction_version = NO_LEVEL
        """How transactions work here: 0, 1 or 2."""
        self.on_change: Callable[[WatchEvent], None] = lambda _: None
        """Called by the registry when there is something new to learn."""

    async def learn(self, *, is_controller: bool = False) -> None:
        """Read the levels and watch them; the controller of a new tree sets them."""
        if is_controller:
            newest = {name: highest for name, (_, highest) in self.supported.items()}
            await self._cluster.ensure_feature(newest)
        self._take(await self._cluster.read_features(self.on_change))

    async def write(self, office: ControllerEpoch, levels: Mapping[str, int]) -> None:
        """Set the levels, as controller. Raises ControllerMoved, VersionConflict."""
        self._take(await self._cluster.write_features(office, levels, self.finalized.epoch))

    def _take(self, finalized: FinalizedFeatures) -> None:
        self.finalized = finalized
        level = finalized.levels.get(TRANSACTION_VERSION, NO_LEVEL)
        _, highest = self.supported.get(TRANSACTION_VERSION, (NO_LEVEL, NO_LEVEL))
        self.transaction_version = min(level, highest)
