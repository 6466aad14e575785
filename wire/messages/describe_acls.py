"""DescribeAcls: List the access rules that match a filter."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-140) ·
# v1 pattern_type_filter, pattern_type (KIP-290); the client waits out throttling (KIP-219) ·
# v2 flexible (KIP-482) · v3 resource type user (KIP-373) · v0 gone in 4.0 (KIP-896)


@message(ApiKey.DESCRIBE_ACLS, versions=(0, 3), flexible=2)
class DescribeAclsRequest(Message):
    """List the access rules that match a filter."""

    # 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 token, 7 user
    resource_type_filter: int = field(Int8)
    # null for any
    resource_name_filter: str | None = field(String, nullable=0)
    # 1 any, 2 match, 3 literal, 4 prefixed
    pattern_type_filter: int = field(Int8, since=1, default=3)
    # null for any
    principal_filter: str | None = field(String, nullable=0)
    # null for any
    host_filter: str | None = field(String, nullable=0)
    operation: int = field(Int8)
    # 1 any, 2 deny, 3 allow
    permission_type: int = field(Int8)


@struct
class AclDescription(Struct):
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@struct
class DescribeAclsResource(Struct):
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    pattern_type: int = field(Int8, since=1, default=3)
    acls: list[AclDescription] = field(Array(AclDescription), default_factory=list)


@message(ApiKey.DESCRIBE_ACLS, versions=(0, 3), flexible=2)
class DescribeAclsResponse(Message):
    """Matching access rules by resource."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    resources: list[DescribeAclsResource] = field(Array(DescribeAclsResource), default_factory=list)
