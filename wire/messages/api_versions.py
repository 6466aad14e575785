"""ApiVersions: Ask which APIs and versions the broker speaks."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 api_keys (KIP-35) · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 flexible (KIP-482), client_software_name, client_software_version (KIP-511); tagged
#   supported_features, finalized_features_epoch, finalized_features (KIP-584) and
#   zk_migration_ready (KIP-866); the response header stays v0 ·
# v4 min_version of a feature may be 0 (KAFKA-17011) ·
# v5 cluster_id, node_id, error REBOOTSTRAP_REQUIRED (KIP-1242) ·
# an unknown version is answered in v0 with error 35 and the supported versions (KIP-511)


@message(ApiKey.API_VERSIONS, versions=(0, 5), flexible=3)
class ApiVersionsRequest(Message):
    """Ask which APIs and versions the broker speaks."""

    client_software_name: str = field(String, since=3, ignorable=True, default="")
    client_software_version: str = field(String, since=3, ignorable=True, default="")
    cluster_id: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)
    # id of the broker the client means to reach, -1 if unknown
    node_id: int = field(Int32, since=5, default=-1, ignorable=True)


@struct
class ApiVersion(Struct):
    api_key: int = field(Int16)
    min_version: int = field(Int16)
    max_version: int = field(Int16)


@struct
class SupportedFeatureKey(Struct):
    name: str = field(String)
    min_version: int = field(Int16)
    max_version: int = field(Int16)


@struct
class FinalizedFeatureKey(Struct):
    name: str = field(String)
    max_version_level: int = field(Int16)
    min_version_level: int = field(Int16)


@message(ApiKey.API_VERSIONS, versions=(0, 5), flexible=3)
class ApiVersionsResponse(Message):
    """APIs with their version ranges, and cluster features."""

    error_code: int = field(Int16, default=0)
    api_keys: list[ApiVersion] = field(Array(ApiVersion), default_factory=list)
    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    supported_features: list[SupportedFeatureKey] = field(
        Array(SupportedFeatureKey), since=3, tag=0, ignorable=True, default_factory=list
    )
    # -1 if unknown
    finalized_features_epoch: int = field(Int64, since=3, default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field(
        Array(FinalizedFeatureKey), since=3, tag=2, ignorable=True, default_factory=list
    )
    zk_migration_ready: bool = field(Boolean, since=3, tag=3, ignorable=True, default=False)
