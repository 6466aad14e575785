"""DeleteAcls: Delete the access rules that match filters."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-140) ·
# v1 pattern_type_filter, pattern_type (KIP-290); the client waits out throttling (KIP-219) ·
# v2 flexible (KIP-482) · v3 resource type user (KIP-373) · v0 gone in 4.0 (KIP-896)


@struct
class DeleteAclsFilter(Struct):
    resource_type_filter: int = field(Int8)
    resource_name_filter: str | None = field(String, nullable=0)
    pattern_type_filter: int = field(Int8, since=1, default=3)
    principal_filter: str | None = field(String, nullable=0)
    host_filter: str | None = field(String, nullable=0)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@message(ApiKey.DELETE_ACLS, versions=(0, 3), flexible=2)
class DeleteAclsRequest(Message):
    """Delete the access rules that match filters."""

    filters: list[DeleteAclsFilter] = field(Array(DeleteAclsFilter), default_factory=list)


@struct
class DeleteAclsMatchingAcl(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    resource_type: int = field(Int8)
    resource_name: str = field(String)
    pattern_type: int = field(Int8, since=1, default=3)
    principal: str = field(String)
    host: str = field(String)
    operation: int = field(Int8)
    permission_type: int = field(Int8)


@struct
class DeleteAclsFilterResult(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    matching_acls: list[DeleteAclsMatchingAcl] = field(
        Array(DeleteAclsMatchingAcl), default_factory=list
    )


@message(ApiKey.DELETE_ACLS, versions=(0, 3), flexible=2)
class DeleteAclsResponse(Message):
    """Per filter, the rules that were deleted."""

    throttle_time_ms: int = field(Int32, default=0)
    filter_results: list[DeleteAclsFilterResult] = field(
        Array(DeleteAclsFilterResult), default_factory=list
    )
