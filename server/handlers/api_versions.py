"""ApiVersions: which APIs and versions this broker serves, and the cluster's features.

* Any version may be asked for: `dispatch` answers those above ours in version 0 with error 35.
* v3: a client without a valid software name or version is refused INVALID_REQUEST (KIP-511).
* v4: also features whose lowest version is 0 (KIP-584 follow-up); v3 must not see them.
* v5: cluster id and node id of the broker the client thinks it talks to (KIP-1242); a
  mismatch is REBOOTSTRAP_REQUIRED.
"""

import re

from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

VERSIONS = Versions(0, 5)
SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    """Answer from the table of handlers."""
    if context.api_version >= 3 and not _is_named(request):
        return ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST))
    broker = context.broker
    if request.cluster_id is not None and request.cluster_id != broker.metadata.cluster_id:
        return ApiVersionsResponse(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED))
    if request.node_id not in (-1, broker.broker_id):
        return ApiVersionsResponse(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED))
    if context.api_version >= 3:
        names = (request.client_software_name, request.client_software_version)
        context.connection.software = names
    levels, epoch = broker.features.finalized
    supported = broker.features.supported
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=int(key), min_version=first, max_version=last)
            for key, (first, last) in sorted(broker.advertised_versions.items())
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
            for name, (lowest, highest) in supported.items()
            if lowest > 0 or context.api_version >= 4
        ],
        finalized_features_epoch=epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in levels.items()
            if name in supported
        ],
    )


def _is_named(request: ApiVersionsRequest) -> bool:
    return bool(
        SOFTWARE.fullmatch(request.client_software_name)
        and SOFTWARE.fullmatch(request.client_software_version)
    )
