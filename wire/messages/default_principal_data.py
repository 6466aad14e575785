"""A principal, as a broker forwards it to the controller."""

from barnabas.wire.primitives import Boolean
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-590)


@message(versions=(0, 0), flexible=0)
class DefaultPrincipalData(Message):
    type: str = field(String)
    name: str = field(String)
    token_authenticated: bool = field(Boolean)
