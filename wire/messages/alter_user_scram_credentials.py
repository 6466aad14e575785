"""AlterUserScramCredentials: Store and delete users' SCRAM credentials."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 (KIP-554)


@struct
class ScramCredentialDeletion(Struct):
    name: str = field(String)
    mechanism: int = field(Int8)


@struct
class ScramCredentialUpsertion(Struct):
    name: str = field(String)
    # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
    mechanism: int = field(Int8)
    iterations: int = field(Int32)
    salt: bytes = field(Bytes, secret=True)
    # already salted and iterated, never the password
    salted_password: bytes = field(Bytes, secret=True)


@message(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsRequest(Message):
    """Store and delete users' SCRAM credentials."""

    deletions: list[ScramCredentialDeletion] = field(
        Array(ScramCredentialDeletion), default_factory=list
    )
    upsertions: list[ScramCredentialUpsertion] = field(
        Array(ScramCredentialUpsertion), default_factory=list
    )


@struct
class AlterUserScramCredentialsResult(Struct):
    user: str = field(String)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")


@message(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsResponse(Message):
    """Per user, whether the credentials changed."""

    throttle_time_ms: int = field(Int32, default=0)
    results: list[AlterUserScramCredentialsResult] = field(
        Array(AlterUserScramCredentialsResult), default_factory=list
    )
