"""The log of requests: what is kept, what is found, what is waited for."""

import asyncio
import time

from barnabas.server.testing.seen import (
    KEPT,
    SeenRequests,
    seen_from_json,
    seen_to_json,
    without_records,
)
from barnabas.wire.api import ApiKey
from barnabas.wire.header import RequestHeader
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)


def header(api: ApiKey, client_id: str = "c") -> RequestHeader:
    return RequestHeader(int(api), 4, 7, client_id)


def observe(seen: SeenRequests, *client_ids: str) -> None:
    for each in client_ids:
        request, response = HeartbeatRequest(group_id="g"), HeartbeatResponse()
        seen.observe(header(ApiKey.HEARTBEAT, each), request, response)


def test_requests_are_found_by_api_client_and_number() -> None:
    seen = SeenRequests()
    observe(seen, "a", "b", "a")
    seen.observe(header(ApiKey.FETCH), FetchResponse(), None)
    assert [each.number for each in seen.of(None)] == [1, 2, 3, 4]
    assert [each.number for each in seen.of(ApiKey.HEARTBEAT, "a")] == [1, 3]
    assert [each.number for each in seen.of(ApiKey.HEARTBEAT, after=1)] == [2, 3]


def test_clearing_forgets_and_goes_on_counting() -> None:
    seen = SeenRequests()
    observe(seen, "a", "a")
    seen.clear()
    observe(seen, "a")
    assert [each.number for each in seen.of(None)] == [3]


def test_only_the_latest_are_kept() -> None:
    seen = SeenRequests()
    observe(seen, *["a"] * (KEPT + 5))
    found = seen.of(None)
    assert (len(found), found[0].number) == (KEPT, 6)


def test_records_are_not_kept_and_the_answer_goes_out_whole() -> None:
    part = PartitionProduceData(index=3, records=memoryview(b"batch"))
    request = ProduceRequest(topics=[TopicProduceData(name="t", partitions=[part])])
    slim = without_records(request)
    assert slim.topics[0].partitions[0].records is None
    assert (slim.topics[0].name, slim.topics[0].partitions[0].index) == ("t", 3)
    assert part.records == b"batch"
    answer = FetchResponse(
        responses=[FetchableTopicResponse(partitions=[PartitionData(records=b"x")])]
    )
    assert without_records(answer).responses[0].partitions[0].records is None
    assert answer.responses[0].partitions[0].records == b"x"
    beat = HeartbeatRequest()
    assert without_records(beat) is beat


def test_waiting_ends_when_enough_have_come_or_the_time_is_over() -> None:
    async def run() -> None:
        seen = SeenRequests()
        observe(seen, "a")
        loop = asyncio.get_running_loop()
        loop.call_later(0.02, observe, seen, "b", "a")
        found = await seen.wait_for(ApiKey.HEARTBEAT, "a", 0, 2, 5_000)
        assert [each.number for each in found] == [1, 3]
        began = time.monotonic()
        assert len(await seen.wait_for(ApiKey.FETCH, None, 0, 1, 30)) == 0
        assert 0.02 < time.monotonic() - began < 2

    asyncio.run(run())


def test_a_request_travels_as_json() -> None:
    seen = SeenRequests()
    observe(seen, "a")
    seen.observe(header(ApiKey.PRODUCE), ProduceRequest(acks=0), None)
    for each in seen.of(None):
        assert seen_from_json(seen_to_json(each)) == each
