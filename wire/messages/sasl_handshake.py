"""SaslHandshake: Choose the SASL mechanism."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 raw SASL tokens follow, without headers (KIP-43) ·
# v1 tokens follow in SaslAuthenticate (KIP-152) ·
# never flexible: clients up to 2.4 misread a higher version (KAFKA-9577)


@message(ApiKey.SASL_HANDSHAKE, versions=(0, 1))
class SaslHandshakeRequest(Message):
    """Choose the SASL mechanism."""

    mechanism: str = field(String)


@message(ApiKey.SASL_HANDSHAKE, versions=(0, 1))
class SaslHandshakeResponse(Message):
    """Mechanisms that the broker offers."""

    error_code: int = field(Int16, default=0)
    mechanisms: list[str] = field(Array(String), default_factory=list)
