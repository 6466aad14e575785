"""DescribeUserScramCredentials: List users' SCRAM mechanisms."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-554)


@struct
class UserName(Struct):
    name: str = field(String)


@message(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsRequest(Message):
    """List users' SCRAM mechanisms."""

    # null or empty for all
    users: list[UserName] | None = field(Array(UserName), nullable=0, default_factory=list)


@struct
class CredentialInfo(Struct):
    # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
    mechanism: int = field(Int8)
    iterations: int = field(Int32)


@struct
class DescribeUserScramCredentialsResult(Struct):
    user: str = field(String)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    credential_infos: list[CredentialInfo] = field(Array(CredentialInfo), default_factory=list)


@message(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsResponse(Message):
    """Per user, mechanisms and iterations, never secrets."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    results: list[DescribeUserScramCredentialsResult] = field(
        Array(DescribeUserScramCredentialsResult), default_factory=list
    )
