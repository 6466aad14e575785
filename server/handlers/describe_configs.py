"""DescribeConfigs: the settings of topics, brokers, a broker's loggers.

* `configuration_keys` null or empty asks for all; names that nobody knows are left out.
* A broker answers for itself, and for the cluster's dynamic defaults (an empty name);
  for another broker: INVALID_REQUEST. Unknown topics: UNKNOWN_TOPIC_OR_PARTITION.
* v1: where each value comes from, and on request what else would give it one (KIP-226); v0 says
  only whether it is the default. v3: types, and documentation on request (KIP-569).
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.settings.changes.describe import describe_resource
from barnabas.server.settings.describe import ConfigEntry, ConfigSource
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

VERSIONS = Versions(0, 4)


async def handle(
    request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    """Describe one resource after the other."""
    response = DescribeConfigsResponse()
    pauses = context.broker.turns.pauses()
    for resource in request.resources:
        response.results.append(await _describe(resource, request, context))
        await pauses.pause()
    return response


async def _describe(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name
    )
    try:
        entries = await describe_resource(
            context.broker.settings,
            resource.resource_type,
            resource.resource_name,
            resource.configuration_keys,
        )
    except ApiError as error:
        result.error_code, result.error_message = int(error.code), error.message or ""
    else:
        result.configs = [_config(entry, request, context) for entry in entries]
    return result


def _config(
    entry: ConfigEntry, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResourceResult:
    config = DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=int(entry.source),
        is_sensitive=entry.is_sensitive,
        config_type=entry.config_type,
        documentation=entry.documentation if request.include_documentation else None,
    )
    if context.api_version == 0:
        config.is_default = entry.source is ConfigSource.DEFAULT_CONFIG
    if request.include_synonyms:
        config.synonyms = [
            DescribeConfigsSynonym(name=name, value=value, source=int(source))
            for name, value, source in entry.synonyms
        ]
    return config


def refuse(request: DescribeConfigsRequest, code: ErrorCode) -> DescribeConfigsResponse:
    """Every resource answers the error."""
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=int(code),
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )
