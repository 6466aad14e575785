"""ListConfigResources: what has settings, by type."""

import pytest

from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.server.admin import create, new_topic
from tests.server.raw_client import RawClient

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def listed(client: RawClient, *types: int) -> set[tuple[str, int]]:
    answer = client.call(ListConfigResourcesRequest(resource_types=list(types)), 1)
    assert answer.error_code == 0
    return {(each.resource_name, each.resource_type) for each in answer.config_resources}


def test_resources_by_type(client: RawClient) -> None:
    create(client, new_topic("listed"))
    brokers = {("0", BROKER)}
    loggers = {("0", LOGGER)}
    topics = {("listed", TOPIC)}
    assert listed(client) == brokers | loggers | topics
    assert listed(client, TOPIC) == topics
    assert listed(client, BROKER) == brokers
    assert listed(client, LOGGER, TOPIC) == loggers | topics
    assert listed(client, CLIENT_METRICS, GROUP) == set()


def test_v0_lists_client_metrics_of_which_there_are_none(client: RawClient) -> None:
    answer = client.call(ListConfigResourcesRequest(), 0)
    assert (answer.error_code, answer.config_resources) == (0, [])


@pytest.mark.parametrize("types", [[0], [99], [TOPIC, 1]])
def test_types_that_cannot_be_listed(client: RawClient, types: list[int]) -> None:
    answer = client.call(ListConfigResourcesRequest(resource_types=types), 1)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])
