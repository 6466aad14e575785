"""Connections that nobody uses any more."""

from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request
from tests.server.waiting import wait_until_watched


def test_an_idle_connection_is_closed_and_others_are_not() -> None:
    with Broker({"connections.max.idle.ms": 5000}) as broker:
        topic = broker.create_topic("t")
        with (
            RawClient(broker.port) as idle,
            RawClient(broker.port) as busy,
            RawClient(broker.port) as parked,
        ):
            idle.call(ApiVersionsRequest(), 0)
            busy.call(ApiVersionsRequest(), 0)
            parked.send(fetch_request(topic, 0, max_wait_ms=20_000), 11)
            wait_until_watched(broker, topic)
            broker.clock.advance("4 s")
            assert busy.call(ApiVersionsRequest(), 0).error_code == 0
            broker.clock.advance("3 s")
            assert idle.is_closed()
            assert busy.call(ApiVersionsRequest(), 0).error_code == 0
            broker.clock.advance("20 s")
            assert parked.receive().responses[0].partitions[0].error_code == 0
