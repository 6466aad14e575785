"""Times, sizes and errors of requests, as a scrape of a real broker shows them."""

import urllib.request
from collections import Counter
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.server.requests.metrics import error_counter
from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey, api_name, response_class
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, make_batch, produce, produce_request
from tests.server.waiting import wait_until_watched

PREFIX = "kafka_network_requestmetrics"
Samples = dict[tuple[str, ...], float]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker({"barnabas.http.port": 0}) as made:
        yield made


def scrape(broker: Broker) -> Samples:
    http = broker.server.http
    assert http is not None
    with urllib.request.urlopen(f"http://127.0.0.1:{http.port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        (sample.name.removeprefix(f"{PREFIX}_"), *labels_of(sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(PREFIX)
    }


def labels_of(labels: dict[str, str]) -> list[str]:
    return [labels[name] for name in sorted(labels)]


def test_requests_are_counted_with_their_size_time_and_errors(broker: Broker) -> None:
    topic = broker.create_topic("t")
    with RawClient(broker.port) as client:
        frame = client.wire.send(produce_request(topic, make_batch(b"x" * 500)), 7)
        client.sock.sendall(frame)
        assert client.receive().responses[0].partition_responses[0].error_code == 0
        assert produce(client, "nowhere", make_batch(b"x")).error_code == 3
        client.send(produce_request(topic, make_batch(b"y"), acks=0), 7, answered=False)
        client.call(ApiVersionsRequest(), 0)
        samples = scrape(broker)
    assert samples["totaltimems_count", "Produce"] == 3
    assert 0 < samples["totaltimems_sum", "Produce"] < 5_000
    assert samples["requestbytes_count", "Produce"] == 3
    assert len(frame) - 4 < samples["requestbytes_sum", "Produce"] < 2 * len(frame)
    assert samples["errors_total", "NONE", "Produce"] == 1
    assert samples["errors_total", "UNKNOWN_TOPIC_OR_PARTITION", "Produce"] == 1
    assert samples["errors_total", "NONE", "ApiVersions"] == 1


def test_the_time_of_a_parked_request_holds_its_wait(broker: Broker) -> None:
    topic = broker.create_topic("t")
    with RawClient(broker.port) as client:
        client.send(fetch_request(topic, 0, max_wait_ms=60_000), 11)
        wait_until_watched(broker, topic)
        assert ("totaltimems_count", "Fetch") not in scrape(broker)
        broker.clock.advance("61 s")
        client.receive()
        samples = scrape(broker)
    assert samples["totaltimems_count", "Fetch"] == 1
    assert samples["totaltimems_count", "FetchConsumer"] == 1
    assert ("totaltimems_count", "FetchFollower") not in samples


def test_nothing_is_recorded_where_nobody_can_read_it(barnabas_broker: Broker) -> None:
    server = barnabas_broker.server
    with RawClient(barnabas_broker.port) as client:
        client.call(ApiVersionsRequest(), 0)
    assert server.dispatcher.meter is None
    assert not server.metrics.requests


def test_every_error_code_of_a_response_is_counted_wherever_it_stands() -> None:
    answer = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=name,
                partition_responses=[
                    PartitionProduceResponse(index=n, error_code=code, base_offset=0)
                    for n, code in enumerate(codes)
                ],
            )
            for name, codes in (("a", (0, 3)), ("b", (0,)))
        ]
    )
    errors: Counter[int] = Counter()
    count = error_counter(ProduceResponse)
    assert count is not None
    count(answer, errors)
    assert errors == {0: 2, 3: 1}


@pytest.mark.parametrize("key", ApiKey)
def test_every_response_has_an_error_code_somewhere(key: ApiKey) -> None:
    cls = response_class(key)
    errors: Counter[int] = Counter()
    count = error_counter(cls)
    assert count is not None
    count(cls(), errors)
    assert set(errors) <= {0}


def test_names_are_kafkas() -> None:
    assert api_name(ApiKey.LIST_OFFSETS) == "ListOffsets"
    assert api_name(ApiKey.API_VERSIONS) == "ApiVersions"
