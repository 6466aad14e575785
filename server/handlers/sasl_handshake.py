"""SaslHandshake: on a listener without SASL, and after authentication, ILLEGAL_SASL_STATE."""

from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

VERSIONS = Versions(0, 1)


def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    """Refuse: no listener here has SASL."""
    return SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE))
