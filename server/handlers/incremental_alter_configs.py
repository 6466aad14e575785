"""IncrementalAlterConfigs: set, delete, append to or take from single settings (KIP-339).

* Lists alone can be appended to and taken from, else INVALID_CONFIG. A key that is named twice,
  a null value, a resource that is named twice: INVALID_REQUEST.
* Broker loggers: set and delete, until the broker restarts (KIP-412).
* An operation nobody knows is INVALID_REQUEST; Kafka 3.9 fails with UNKNOWN_SERVER_ERROR.
"""

from functools import partial

from barnabas.server.core.turns import each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.settings.changes.alter import Change
from barnabas.server.settings.changes.alterations import MOST_SETTINGS, Alteration
from barnabas.server.settings.changes.requests import alter_all, refused, response, responses
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

VERSIONS = Versions(0, 1)


async def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    """Change the settings of one resource after the other."""
    changes = await context.broker.turns.run(
        each(
            request.resources,
            lambda one: (one.resource_type, one.resource_name, _change(one, request.validate_only)),
        )
    )
    outcomes = await alter_all(context.broker.settings, context.broker.turns, changes)
    make = partial(response, AlterConfigsResourceResponse)
    return IncrementalAlterConfigsResponse(
        responses=await context.broker.turns.run(each(outcomes, make))
    )


def _change(resource: AlterConfigsResource, validate_only: bool) -> Change:
    configs = resource.configs[: MOST_SETTINGS + 1]
    wanted = [Alteration(each.name, each.config_operation, each.value) for each in configs]
    return Change(wanted, validate_only=validate_only)


def refuse(
    request: IncrementalAlterConfigsRequest, code: ErrorCode
) -> IncrementalAlterConfigsResponse:
    """Every resource answers the error."""
    outcomes = refused(request.resources, code)
    return IncrementalAlterConfigsResponse(
        responses=responses(AlterConfigsResourceResponse, outcomes)
    )
