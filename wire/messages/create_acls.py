"""CreateAcls: Create access rules."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-140) · v1 resource_pattern_type (KIP-290); the client waits out throttling (KIP-219) ·
# v2 flexible (KIP-482) · v3 resource type user (KIP-373) · v0 gone in 4.0 (KIP-896)


@struct
class AclCreation(Struct):
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    # 3 literal, 4 prefixed
    resource_pattern_type: int = field(Int8, since=1, default=3)
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    # 2 deny, 3 allow
    permission_type: int = field(Int8)


@message(ApiKey.CREATE_ACLS, versions=(0, 3), flexible=2)
class CreateAclsRequest(Message):
    """Create access rules."""

    creations: list[AclCreation] = field(Array(AclCreation), default_factory=list)


@struct
class AclCreationResult(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")


@message(ApiKey.CREATE_ACLS, versions=(0, 3), flexible=2)
class CreateAclsResponse(Message):
    """Per rule, whether it was created."""

    throttle_time_ms: int = field(Int32, default=0)
    results: list[AclCreationResult] = field(Array(AclCreationResult), default_factory=list)
