"""UpdateFeatures and what ApiVersions says of it: the level that clients go by."""

from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.server.raw_client import RawClient

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
TRANSACTIONS = "transaction.version"


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker for each test: its level is what they are about."""
    with Broker() as made:
        yield made


@pytest.fixture
def posing() -> Iterator[Broker]:
    with Broker(pose_as="3.9") as broker:
        yield broker


def told(client: RawClient, version: int = 4) -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name="probe", client_software_version="1.0")
    answer: ApiVersionsResponse = client.call(request, version)
    return answer


def level(client: RawClient) -> int:
    """The finalized level of transactions, 0 if there is none."""
    finalized = told(client).finalized_features
    assert all(each.min_version_level == each.max_version_level for each in finalized)
    return next((f.max_version_level for f in finalized if f.name == TRANSACTIONS), 0)


def update(
    client: RawClient,
    *updates: tuple[str, int, int],
    version: int = 2,
    validate_only: bool = False,
) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
            for name, level, upgrade_type in updates
        ],
        validate_only=validate_only,
    )
    answer: UpdateFeaturesResponse = client.call(request, version)
    return answer


def test_a_new_cluster_works_at_the_newest_level(client: RawClient) -> None:
    answer = told(client)
    assert [(f.name, f.min_version, f.max_version) for f in answer.supported_features] == [
        (TRANSACTIONS, 0, 2)
    ]
    assert level(client) == 2
    assert answer.finalized_features_epoch == 0


def test_clients_that_take_no_lowest_level_of_0_see_no_range(client: RawClient) -> None:
    answer = told(client, 3)
    assert answer.supported_features == []
    assert [f.name for f in answer.finalized_features] == [TRANSACTIONS]


def test_a_level_is_lowered_and_raised(client: RawClient) -> None:
    assert update(client, (TRANSACTIONS, 1, SAFE_DOWNGRADE)).error_code == ErrorCode.NONE
    assert (level(client), told(client).finalized_features_epoch) == (1, 1)
    assert update(client, (TRANSACTIONS, 0, UNSAFE_DOWNGRADE)).error_code == ErrorCode.NONE
    assert level(client) == 0
    assert update(client, (TRANSACTIONS, 2, UPGRADE)).error_code == ErrorCode.NONE
    assert (level(client), told(client).finalized_features_epoch) == (2, 3)


def test_a_level_outlives_a_restart(broker: Broker, client: RawClient) -> None:
    update(client, (TRANSACTIONS, 1, SAFE_DOWNGRADE))
    broker.restart()
    with RawClient(broker.port) as again:
        assert level(again) == 1


def test_a_trial_changes_nothing(client: RawClient) -> None:
    answer = update(client, (TRANSACTIONS, 1, SAFE_DOWNGRADE), validate_only=True)
    assert (answer.error_code, level(client)) == (ErrorCode.NONE, 2)


def test_the_level_there_is_may_be_asked_for(client: RawClient) -> None:
    assert update(client, (TRANSACTIONS, 2, UPGRADE)).error_code == ErrorCode.NONE
    assert told(client).finalized_features_epoch == 0


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ((TRANSACTIONS, 3, UPGRADE), ErrorCode.INVALID_UPDATE_VERSION),
        ((TRANSACTIONS, -1, UPGRADE), ErrorCode.INVALID_UPDATE_VERSION),
        ((TRANSACTIONS, 1, UPGRADE), ErrorCode.INVALID_UPDATE_VERSION),
        ((TRANSACTIONS, 1, 0), ErrorCode.INVALID_REQUEST),
        ((TRANSACTIONS, 1, 4), ErrorCode.INVALID_REQUEST),
        (("share.version", 1, UPGRADE), ErrorCode.INVALID_UPDATE_VERSION),
        (("", 1, UPGRADE), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_is_refused(
    client: RawClient, wish: tuple[str, int, int], code: ErrorCode
) -> None:
    assert update(client, wish).error_code == code
    (result,) = update(client, wish, version=1).results
    assert result.error_code == code
    assert level(client) == 2


def test_a_downgrade_does_not_go_up(client: RawClient) -> None:
    update(client, (TRANSACTIONS, 1, SAFE_DOWNGRADE))
    answer = update(client, (TRANSACTIONS, 2, SAFE_DOWNGRADE))
    assert (answer.error_code, level(client)) == (ErrorCode.INVALID_UPDATE_VERSION, 1)


def test_from_v2_on_it_is_all_or_nothing(client: RawClient) -> None:
    wishes = ((TRANSACTIONS, 1, SAFE_DOWNGRADE), ("share.version", 1, UPGRADE))
    answer = update(client, *wishes)
    assert (answer.error_code, level(client)) == (ErrorCode.INVALID_UPDATE_VERSION, 2)
    answer = update(client, *wishes, version=1)
    assert [r.error_code for r in answer.results] == [0, ErrorCode.INVALID_UPDATE_VERSION]
    assert level(client) == 1


def test_a_feature_named_twice_is_refused(client: RawClient) -> None:
    twice = [(TRANSACTIONS, 1, SAFE_DOWNGRADE)] * 2
    assert update(client, *twice).error_code == ErrorCode.INVALID_REQUEST
    assert level(client) == 2


def test_v0_says_whether_a_downgrade_is_allowed(client: RawClient) -> None:
    def lower(allow_downgrade: bool) -> int:
        wish = FeatureUpdateKey(
            feature=TRANSACTIONS, max_version_level=1, allow_downgrade=allow_downgrade
        )
        answer = client.call(UpdateFeaturesRequest(feature_updates=[wish]), 0)
        return int(answer.results[0].error_code)

    assert lower(False) == ErrorCode.INVALID_UPDATE_VERSION
    assert (lower(True), level(client)) == (ErrorCode.NONE, 1)


def test_who_poses_as_an_older_release_has_no_features(posing: Broker) -> None:
    with RawClient(posing.port) as client:
        answer = told(client)
        assert (answer.supported_features, answer.finalized_features) == ([], [])
        assert answer.finalized_features_epoch == 0
        (result,) = update(client, (TRANSACTIONS, 1, UPGRADE), version=1).results
        assert result.error_code == ErrorCode.INVALID_REQUEST
