"""SaslHandshake and SaslAuthenticate on a listener without SASL."""

import pytest

from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.server.raw_client import RawClient


@pytest.mark.parametrize("version", [0, 1])
def test_a_handshake_is_refused_and_the_connection_goes_on(client: RawClient, version: int) -> None:
    answer = client.call(SaslHandshakeRequest(mechanism="PLAIN"), version)
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert client.call(ApiVersionsRequest(), 0).error_code == 0


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_token_is_refused_and_the_connection_goes_on(client: RawClient, version: int) -> None:
    answer = client.call(SaslAuthenticateRequest(auth_bytes=b"\0u\0p"), version)
    assert (answer.error_code, answer.auth_bytes) == (ErrorCode.ILLEGAL_SASL_STATE, b"")
    assert client.call(ApiVersionsRequest(), 0).error_code == 0
