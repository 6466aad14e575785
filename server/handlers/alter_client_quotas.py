"""AlterClientQuotas: quotas are not enforced here, and none is taken (KIP-546).

Every entry answers INVALID_REQUEST and says so: who sets a quota must not believe in it.
"""

from typing import Final

from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityDataResponse,
    EntryDataRequest,
    EntryDataResponse,
)

VERSIONS = Versions(0, 1)
NOT_ENFORCED: Final = "This broker enforces no client quotas."


def handle(
    request: AlterClientQuotasRequest, context: RequestContext
) -> Sliced[AlterClientQuotasResponse]:
    """Refuse each."""
    return Sliced(_refuse_each(request))


def _refuse_each(request: AlterClientQuotasRequest) -> Steps[AlterClientQuotasResponse]:
    response = AlterClientQuotasResponse()
    for entry in request.entries:
        result = EntryDataResponse(
            error_code=int(ErrorCode.INVALID_REQUEST), error_message=NOT_ENFORCED
        )
        response.entries.append(result)
        for each in entry.entity:
            result.entity.append(
                EntityDataResponse(entity_type=each.entity_type, entity_name=each.entity_name)
            )
            yield
        yield
    return response


def refuse(request: AlterClientQuotasRequest, code: ErrorCode) -> AlterClientQuotasResponse:
    """Every entry answers the error."""
    return AlterClientQuotasResponse(entries=[_refused(each, code) for each in request.entries])


def _refused(entry: EntryDataRequest, code: ErrorCode) -> EntryDataResponse:
    entity = [
        EntityDataResponse(entity_type=each.entity_type, entity_name=each.entity_name)
        for each in entry.entity
    ]
    return EntryDataResponse(error_code=int(code), error_message=None, entity=entity)
