"""UpdateFeatures: Raise or lower the cluster's feature levels."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 allow_downgrade (KIP-584) ·
# v1 upgrade_type instead of allow_downgrade, validate_only (KIP-778) ·
# v2 without results: one answer for all features (KIP-1022)


@struct
class FeatureUpdateKey(Struct):
    feature: str = field(String)
    # below 1 deletes the feature's level
    max_version_level: int = field(Int16)
    allow_downgrade: bool = field(Boolean, until=0, default=False)
    # 1 upgrade, 2 safe downgrade, 3 lossy downgrade
    upgrade_type: int = field(Int8, since=1, default=1)


@message(ApiKey.UPDATE_FEATURES, versions=(0, 2), flexible=0)
class UpdateFeaturesRequest(Message):
    """Raise or lower the cluster's feature levels."""

    timeout_ms: int = field(Int32, default=60000, kafka_name="timeoutMs")
    feature_updates: list[FeatureUpdateKey] = field(Array(FeatureUpdateKey), default_factory=list)
    validate_only: bool = field(Boolean, since=1, default=False)


@struct
class UpdatableFeatureResult(Struct):
    feature: str = field(String)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")


@message(ApiKey.UPDATE_FEATURES, versions=(0, 2), flexible=0)
class UpdateFeaturesResponse(Message):
    """Whether the feature levels changed."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    results: list[UpdatableFeatureResult] = field(
        Array(UpdatableFeatureResult), until=1, ignorable=True, default_factory=list
    )
