"""ListConfigResources: names of what has settings; v0 is 3.9's ListClientMetricsResources.

* v0, and no types at all in v1, keep their meaning: client metrics alone, and every type.
  A type that cannot be listed: UNSUPPORTED_VERSION (KIP-1142).
* There are no client metrics subscriptions and no group settings here, so those lists are empty.
"""

from collections.abc import Iterator

from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.settings.changes.resources import ResourceType
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

VERSIONS = Versions(0, 1)


def handle(
    request: ListConfigResourcesRequest, context: RequestContext
) -> Sliced[ListConfigResourcesResponse]:
    """List the types asked for."""
    return Sliced(_list(request, context))


def _list(
    request: ListConfigResourcesRequest, context: RequestContext
) -> Steps[ListConfigResourcesResponse]:
    if context.api_version == 0:
        return ListConfigResourcesResponse()
    wanted = set(request.resource_types) or set(ResourceType)
    if not wanted <= set(ResourceType):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    response = ListConfigResourcesResponse()
    for kind, name in _resources(context):
        if kind in wanted:
            resource = ConfigResource(resource_name=name, resource_type=int(kind))
            response.config_resources.append(resource)
        yield
    return response


def _resources(context: RequestContext) -> Iterator[tuple[ResourceType, str]]:
    metadata = context.broker.metadata
    for topic in tuple(metadata.topics):
        yield ResourceType.TOPIC, topic
    for broker_id in tuple(metadata.brokers):
        yield ResourceType.BROKER, str(broker_id)
        yield ResourceType.BROKER_LOGGER, str(broker_id)
