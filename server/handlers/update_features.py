"""UpdateFeatures: raise or lower the level of a finalized feature (KIP-584).

* v0: `allow_downgrade` for each feature; v1: an upgrade type, `validate_only` (KIP-778). With v0
  and v1 every feature has a result of its own, and those that may be set are.
* v2: one answer for all, and all or nothing (KIP-1022).
* INVALID_UPDATE_VERSION for a level that cannot be; a broker that poses as a release without
  features answers INVALID_REQUEST, as 3.9 does. NOT_CONTROLLER elsewhere.
"""

from collections.abc import Mapping

from barnabas.server.cluster.features import (
    SAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    Ranges,
    judge,
    with_update,
)
from barnabas.server.core.errors import ApiError, shortened
from barnabas.server.handlers import Versions
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

VERSIONS = Versions(0, 2)
ALL_OR_NOTHING_SINCE = 2
MOST_UPDATES = 1_000

Faults = dict[str, ApiError]


async def handle(request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    """Judge every wish, then set those that may be."""
    controller, features = context.broker.controller, context.broker.features
    if controller.epoch is None:
        raise ApiError(ErrorCode.NOT_CONTROLLER)
    if len(request.feature_updates) > MOST_UPDATES:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"More than {MOST_UPDATES} features.")
    brokers = [
        each.registration for each in (await context.broker.registry.brokers.read_all()).values()
    ]
    wishes = [_wish(each, context.api_version) for each in request.feature_updates]
    before = features.finalized.levels
    levels, faults = judge_all(wishes, before, features.supported, brokers)
    is_refused = bool(faults) and context.api_version >= ALL_OR_NOTHING_SINCE
    if levels != before and not request.validate_only and not is_refused:
        office = controller.epoch
        if office is None:
            raise ApiError(ErrorCode.NOT_CONTROLLER)
        await features.write(office, levels)
    return _answer(request, faults, context.api_version)


def judge_all(
    wishes: list[FeatureUpdate],
    levels: Mapping[str, int],
    supported: Ranges,
    brokers: list[BrokerRegistration],
) -> tuple[Mapping[str, int], Faults]:
    """The levels with every wish that may be granted, and what is wrong with the others."""
    faults: Faults = {}
    names = [each.name for each in wishes]
    for wish in wishes:
        try:
            if not wish.name or names.count(wish.name) > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, "A feature is named once, by its name.")
            if not supported:
                raise ApiError(ErrorCode.INVALID_REQUEST, "This release has no such feature.")
            judge(wish, levels, supported, brokers)
        except ApiError as error:
            faults[wish.name] = error
        else:
            levels = with_update(levels, wish)
    return levels, faults


def _wish(update: FeatureUpdateKey, version: int) -> FeatureUpdate:
    upgrade_type = update.upgrade_type
    if version == 0:
        upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return FeatureUpdate(update.feature, update.max_version_level, upgrade_type)


def _answer(request: UpdateFeaturesRequest, faults: Faults, version: int) -> UpdateFeaturesResponse:
    if version >= ALL_OR_NOTHING_SINCE:
        for name, fault in faults.items():
            return UpdateFeaturesResponse(
                error_code=int(fault.code),
                error_message=shortened(f"Nothing is changed. {name}: {fault.message}"),
            )
        return UpdateFeaturesResponse(error_message=None)
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            _result(each.feature, faults.get(each.feature)) for each in request.feature_updates
        ],
    )


def _result(name: str, fault: ApiError | None) -> UpdatableFeatureResult:
    if fault is None:
        return UpdatableFeatureResult(feature=name, error_message=None)
    return UpdatableFeatureResult(
        feature=name, error_code=int(fault.code), error_message=fault.message
    )


def refuse(request: UpdateFeaturesRequest, code: ErrorCode) -> UpdateFeaturesResponse:
    """The whole answers the error, and before v2 every feature as well."""
    return UpdateFeaturesResponse(
        error_code=int(code),
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=each.feature, error_code=int(code), error_message=None)
            for each in request.feature_updates
        ],
    )
