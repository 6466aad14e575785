"""AlterConfigs: replace all of a resource's own settings (deprecated since KIP-339).

* What a resource had and the request does not name is gone. Resources succeed or fail on their
  own; one that is named twice is refused INVALID_REQUEST, as the incremental API does.
* Topics: INVALID_CONFIG with the reason; brokers: INVALID_REQUEST. Loggers only incrementally.
"""

from functools import partial

from barnabas.server.core.turns import each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.settings.changes.alter import Change
from barnabas.server.settings.changes.alterations import MOST_SETTINGS, Alteration, Operation
from barnabas.server.settings.changes.requests import alter_all, refused, response, responses
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

VERSIONS = Versions(0, 2)


async def handle(request: AlterConfigsRequest, context: RequestContext) -> AlterConfigsResponse:
    """Replace the settings of one resource after the other."""
    changes = await context.broker.turns.run(
        each(
            request.resources,
            lambda one: (one.resource_type, one.resource_name, _change(one, request.validate_only)),
        )
    )
    outcomes = await alter_all(context.broker.settings, context.broker.turns, changes)
    make = partial(response, AlterConfigsResourceResponse)
    return AlterConfigsResponse(responses=await context.broker.turns.run(each(outcomes, make)))


def _change(resource: AlterConfigsResource, validate_only: bool) -> Change:
    configs = resource.configs[: MOST_SETTINGS + 1]
    given = [Alteration(each.name, Operation.SET, each.value) for each in configs]
    return Change(given, validate_only=validate_only, replaces=True)


def refuse(request: AlterConfigsRequest, code: ErrorCode) -> AlterConfigsResponse:
    """Every resource answers the error."""
    outcomes = refused(request.resources, code)
    return AlterConfigsResponse(responses=responses(AlterConfigsResourceResponse, outcomes))
