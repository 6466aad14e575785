"""AlterUserScramCredentials: none can be kept without SASL (KIP-554).

What is to be stored answers UNSUPPORTED_SASL_MECHANISM, what is to be deleted RESOURCE_NOT_FOUND;
a user that is named twice DUPLICATE_RESOURCE, as in Kafka.
"""

from collections import Counter
from collections.abc import Iterator

from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

VERSIONS = Versions(0, 0)
MESSAGES = {
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "This broker keeps no SCRAM credentials.",
    ErrorCode.RESOURCE_NOT_FOUND: "Attempt to delete a user credential that does not exist",
    ErrorCode.DUPLICATE_RESOURCE: "A user credential cannot be altered twice in the same request",
}


def handle(
    request: AlterUserScramCredentialsRequest, context: RequestContext
) -> Sliced[AlterUserScramCredentialsResponse]:
    """Refuse each."""
    return Sliced(_refuse_each(request))


def _wishes(request: AlterUserScramCredentialsRequest) -> Iterator[tuple[str, ErrorCode]]:
    for deletion in request.deletions:
        yield deletion.name, ErrorCode.RESOURCE_NOT_FOUND
    for upsertion in request.upsertions:
        yield upsertion.name, ErrorCode.UNSUPPORTED_SASL_MECHANISM


def _refuse_each(
    request: AlterUserScramCredentialsRequest,
) -> Steps[AlterUserScramCredentialsResponse]:
    counts, codes = Counter[str](), dict[str, ErrorCode]()
    for name, code in _wishes(request):
        counts[name] += 1
        codes[name] = code
        yield
    response = AlterUserScramCredentialsResponse()
    for name, code in codes.items():
        code = ErrorCode.DUPLICATE_RESOURCE if counts[name] > 1 else code
        response.results.append(
            AlterUserScramCredentialsResult(
                user=name, error_code=int(code), error_message=MESSAGES[code]
            )
        )
        yield
    return response


def refuse(
    request: AlterUserScramCredentialsRequest, code: ErrorCode
) -> AlterUserScramCredentialsResponse:
    """Every user answers the error."""
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=name, error_code=int(code), error_message=None)
            for name in dict.fromkeys(name for name, _ in _wishes(request))
        ]
    )
