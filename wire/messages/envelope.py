"""Envelope: Forward a client's request to the controller."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import Bytes

# v0 (KIP-590)


@message(ApiKey.ENVELOPE, versions=(0, 0), flexible=0)
class EnvelopeRequest(Message):
    """Forward a client's request to the controller."""

    # whatever the client sent, secrets included
    request_data: bytes = field(Bytes, secret=True)
    request_principal: bytes | None = field(Bytes, nullable=0)
    client_host_address: bytes = field(Bytes)


@message(ApiKey.ENVELOPE, versions=(0, 0), flexible=0)
class EnvelopeResponse(Message):
    """The controller's response to a forwarded request."""

    response_data: bytes | None = field(Bytes, nullable=0, default=None)
    error_code: int = field(Int16, default=0)
