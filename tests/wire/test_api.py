"""The table of APIs is what the messages declare."""

from __future__ import annotations

import pytest

from barnabas.wire.api import (
    FLEXIBLE_SINCE,
    ApiKey,
    api_name,
    request_class,
    response_class,
)
from tests.wire.strategies import declared


@pytest.mark.parametrize("key", list(ApiKey), ids=lambda key: api_name(key))
def test_request_and_response_agree_with_the_table(key: ApiKey) -> None:
    request, response = request_class(key), response_class(key)
    assert request.API_KEY is response.API_KEY is key
    assert request.VERSIONS == response.VERSIONS
    assert request.FLEXIBLE_SINCE == response.FLEXIBLE_SINCE == FLEXIBLE_SINCE[key]
    assert (request.__name__, response.__name__) == (
        f"{api_name(key)}Request",
        f"{api_name(key)}Response",
    )
    assert request.__module__ == f"barnabas.wire.messages.{key.name.lower()}"


def test_no_message_belongs_to_an_api_that_is_not_there() -> None:
    """But for the name that Kafka 3.9 had for ListConfigResources."""
    with_key = {cls for cls in declared().values() if cls.API_KEY is not None}
    former = {cls for cls in with_key if cls.__name__.startswith("ListClientMetricsResources")}
    assert {cls.API_KEY for cls in former} == {ApiKey.LIST_CONFIG_RESOURCES}
    assert with_key - former == {
        find(key) for key in ApiKey for find in (request_class, response_class)
    }


def test_keys_have_no_gap() -> None:
    assert list(ApiKey) == list(range(95))
    assert list(FLEXIBLE_SINCE) == list(range(95))


def test_names_are_kafkas() -> None:
    assert api_name(ApiKey.FETCH) == "Fetch"
    assert api_name(ApiKey.ADD_PARTITIONS_TO_TXN) == "AddPartitionsToTxn"
    assert api_name(ApiKey.ALTER_USER_SCRAM_CREDENTIALS) == "AlterUserScramCredentials"
