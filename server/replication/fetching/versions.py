"""The versions in which a follower asks its leader.

They follow from `inter.broker.protocol.version` alone (Kafka's MetadataVersion): brokers of a
cluster that is being upgraded must not be told apart by what each of them could do.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.wire.api import ApiKey

# The first inter-broker protocol of each version.
_VERSIONS: Final[dict[ApiKey, Sequence[tuple[ProtocolVersion, int]]]] = {
    ApiKey.FETCH: (
        ((3, 9), 17), ((3, 7), 16), ((3, 5), 15), ((3, 1), 13), ((2, 7), 12), ((2, 3), 11),
        ((2, 1), 10), ((2, 0), 8), ((1, 1), 7), ((0, 11), 5), ((0, 10), 3), ((0, 9), 1),
        ((0, 0), 0),
    ),
    ApiKey.LIST_OFFSETS: (
        ((3, 9), 9), ((3, 5), 8), ((3, 0), 7), ((2, 8), 6), ((2, 2), 5), ((2, 1), 4),
        ((2, 0), 3), ((0, 11), 2), ((0, 10), 1), ((0, 0), 0),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        ((2, 8), 4), ((2, 3), 3), ((2, 1), 2), ((2, 0), 1), ((0, 0), 0),
    ),
}  # fmt: skip

TOPIC_IDS_SINCE: Final = 13
SESSIONS_SINCE: Final = 7
REPLICA_STATE_SINCE: Final = 15
_TRUNCATES_ON_FETCH_SINCE: Final = (2, 7)
_EPOCHS_SINCE: Final = (0, 11)


def version_of(api_key: ApiKey, protocol: ProtocolVersion) -> int:
    """The version in which brokers of an inter-broker protocol ask."""
    return next(version for since, version in _VERSIONS[api_key] if protocol >= since)


def truncates_on_fetch(protocol: ProtocolVersion) -> bool:
    """Whether a leader's answer to a fetch says where logs part (KIP-595)."""
    return protocol >= _TRUNCATES_ON_FETCH_SINCE


def knows_epochs(protocol: ProtocolVersion) -> bool:
    """Whether leaders can be asked where an epoch ended (KIP-101)."""
    return protocol >= _EPOCHS_SINCE
