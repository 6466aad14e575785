"""DescribeConfigs: Read the settings of resources."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 is_default of each setting (KIP-133) ·
# v1 include_synonyms; config_source, synonyms instead of is_default (KIP-226) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 include_documentation, config_type, documentation (KIP-569) · v4 flexible (KIP-482) ·
# v0 gone in 4.0 (KIP-896)


@struct
class DescribeConfigsResource(Struct):
    # 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    # null for all
    configuration_keys: list[str] | None = field(Array(String), nullable=0, default_factory=list)


@message(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible=4)
class DescribeConfigsRequest(Message):
    """Read the settings of resources."""

    resources: list[DescribeConfigsResource] = field(
        Array(DescribeConfigsResource), default_factory=list
    )
    include_synonyms: bool = field(Boolean, since=1, default=False)
    include_documentation: bool = field(Boolean, since=3, default=False)


@struct
class DescribeConfigsSynonym(Struct):
    name: str = field(String)
    value: str | None = field(String, nullable=0)
    source: int = field(Int8)


@struct
class DescribeConfigsResourceResult(Struct):
    name: str = field(String)
    # null if sensitive
    value: str | None = field(String, nullable=0)
    read_only: bool = field(Boolean)
    is_default: bool = field(Boolean, until=0, default=False)
    # 1 topic, 2 broker, 3 all brokers, 4 file, 5 default, 6 logger
    config_source: int = field(Int8, since=1, default=-1, ignorable=True)
    is_sensitive: bool = field(Boolean)
    synonyms: list[DescribeConfigsSynonym] = field(
        Array(DescribeConfigsSynonym), since=1, ignorable=True, default_factory=list
    )
    # 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password
    config_type: int = field(Int8, since=3, ignorable=True, default=0)
    documentation: str | None = field(String, since=3, nullable=0, ignorable=True, default="")


@struct
class DescribeConfigsResult(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    configs: list[DescribeConfigsResourceResult] = field(
        Array(DescribeConfigsResourceResult), default_factory=list
    )


@message(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible=4)
class DescribeConfigsResponse(Message):
    """Per resource, its settings and where they come from."""

    throttle_time_ms: int = field(Int32, default=0)
    results: list[DescribeConfigsResult] = field(Array(DescribeConfigsResult), default_factory=list)
