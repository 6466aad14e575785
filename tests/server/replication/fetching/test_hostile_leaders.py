"""Whatever a leader answers, its follower's log stays one, and the broker serves everybody else."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.metadata import BrokerInfo, Endpoint, PartitionInfo, TopicInfo
from barnabas.server.network.reactor import new_event_loop
from barnabas.server.replication.partition import Partition
from barnabas.storage.log.results import ReadBound
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Request
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.wire.uuids import Uuid
from tests.server.cluster.cluster import cluster_of
from tests.server.peers.other_broker import Answer, OtherBroker
from tests.server.records import make_batch
from tests.server.waiting import eventually

LEADER_ID = 7
TOPIC_ID = Uuid(bytes(range(16)))
SETTINGS = {"replica_fetch_backoff_ms": "60"}


def batch_at(offset: int, *values: bytes) -> bytes:
    """A batch as a leader has it: with its offset, in leader epoch 0."""
    data = make_batch(*(values or (b"v",)), leader_epoch=0)
    data[:8] = offset.to_bytes(8, "big")
    return bytes(data)


def data_of(records: bytes = b"", **fields: Any) -> PartitionData:
    given = {"high_watermark": 100, "log_start_offset": 0, **fields}
    return PartitionData(partition_index=0, records=records, **given)


def answer_of(
    *partitions: PartitionData, topic_id: Uuid = TOPIC_ID, **fields: Any
) -> FetchResponse:
    topic = FetchableTopicResponse(topic_id=topic_id, partitions=list(partitions))
    return FetchResponse(responses=[topic], **fields)


class Scene:
    """A follower, and a leader that answers each fetch with the next of what a test says."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.leader = OtherBroker(self._answer)
        self.leader.served[ApiKey.FETCH] = (0, 17)
        self.leader.served[ApiKey.LIST_OFFSETS] = (0, 9)
        self.answers: list[Answer] = []
        self.fetches: list[FetchRequest] = []
        self.offsets = ListOffsetsPartitionResponse(partition_index=0, offset=0)

    def _answer(self, request: Request) -> Answer:
        asked = request.message()
        if not isinstance(asked, FetchRequest):
            topics = [ListOffsetsTopicResponse(name="t", partitions=[self.offsets])]
            return ListOffsetsResponse(topics=topics)
        self.fetches.append(asked)
        return self.answers.pop(0) if self.answers else None

    async def follow(self, *answers: Answer) -> Partition:
        """Follow, until a fetch comes that nothing is left to answer with."""
        self.answers = list(answers)
        info = PartitionInfo(0, LEADER_ID, 0, (LEADER_ID, 0), (LEADER_ID,))
        await self.broker.hosting.lead_or_follow(TopicInfo("t", TOPIC_ID, (info,)))
        await self.settled(len(answers))
        return self.broker.replicas.require("t", 0)

    async def settled(self, answers: int) -> None:
        """Wait until so many fetches have been answered, and one waits or none will come."""
        await eventually(lambda: len(self.fetches) > answers or bool(self.broker.followers.failed))


def play(folder: Path, work: Callable[[Scene], Awaitable[None]], **settings: str) -> None:
    async def run() -> None:
        async with cluster_of(folder, 0) as cluster:
            broker = await cluster.start(0, **SETTINGS, **settings)
            scene = Scene(broker)
            await scene.leader.start()
            endpoint = Endpoint(*scene.leader.address)
            broker.metadata.brokers[LEADER_ID] = BrokerInfo(LEADER_ID, {"PLAINTEXT": endpoint})
            try:
                await work(scene)
            finally:
                await broker.followers.stop()
                await scene.leader.stop()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


SAYS_SO = pytest.mark.broker_says(
    "what a leader sent cannot be appended|a leader answers an error|a log cannot be truncated",
    always=False,
)


@SAYS_SO
@pytest.mark.parametrize(
    "answer",
    [
        answer_of(data_of(batch_at((1 << 63) - 1))),
        answer_of(data_of(damaged(batch_at(1), 65))),
        answer_of(data_of(damaged(batch_at(1), 16))),
        answer_of(data_of(b"\xff" * 100)),
        answer_of(data_of(bytes(100))),
        answer_of(data_of(batch_at(1)[:50])),
        answer_of(data_of(batch_at(5) + batch_at(5))),
        answer_of(data_of(), data_of(batch_at(1))),
        answer_of(PartitionData(partition_index=9, high_watermark=0, records=batch_at(1))),
        answer_of(data_of(batch_at(1)), topic_id=Uuid(bytes([9]) * 16)),
        answer_of(data_of(batch_at(1), error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        answer_of(data_of(batch_at(1), error_code=12_345)),
        answer_of(data_of(batch_at(1)), error_code=ErrorCode.UNKNOWN_SERVER_ERROR),
        FetchResponse(),
        FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ],
)
def test_what_makes_no_sense_is_asked_for_again(tmp_path: Path, answer: FetchResponse) -> None:
    async def work(scene: Scene) -> None:
        good = answer_of(data_of(batch_at(0)))
        after = answer_of(data_of(batch_at(1)))
        partition = await scene.follow(good, answer, answer, after)
        log = partition.log
        if answer.responses and answer.responses[0].partitions[0].records == batch_at(5) * 2:
            assert log.log_end_offset in (1, 2)
            return
        assert log.log_end_offset == 2
        assert not scene.broker.followers.failed

    play(tmp_path, work)


@SAYS_SO
@pytest.mark.parametrize(
    "answer",
    [
        answer_of(data_of(batch_at(0))),  # again
        answer_of(data_of(error_code=ErrorCode.FENCED_LEADER_EPOCH)),
        answer_of(data_of(log_start_offset=50)),  # of a log that it says to have from there on
        answer_of(data_of(diverging_epoch=EpochEndOffset(epoch=0, end_offset=-7))),
    ],
)
def test_what_is_past_mending_ends_with_the_partition_and_not_the_broker(
    tmp_path: Path, answer: FetchResponse
) -> None:
    async def work(scene: Scene) -> None:
        partition = await scene.follow(answer_of(data_of(batch_at(0))), answer)
        await eventually(lambda: scene.broker.followers.failed == {("t", 0)})
        assert partition.log.log_end_offset == 1
        await scene.broker.hosting.stop_replicas("t", {0: (0, False)})
        assert not scene.broker.followers.failed

    play(tmp_path, work)


@pytest.mark.parametrize("high_watermark", [-1, -(1 << 63), (1 << 63) - 1])
def test_a_watermark_is_taken_as_far_as_the_log_reaches(
    tmp_path: Path, high_watermark: int
) -> None:
    async def work(scene: Scene) -> None:
        data = data_of(batch_at(0), high_watermark=high_watermark, log_start_offset=-5)
        partition = await scene.follow(answer_of(data))
        assert partition.log.high_watermark == (1 if high_watermark > 0 else 0)
        assert partition.log.log_start_offset == 0

    play(tmp_path, work)


def test_a_leader_that_says_nothing_new_for_ever_is_not_asked_in_haste(tmp_path: Path) -> None:
    """The log parts from the leader's where it ends anyway, time and again."""

    async def work(scene: Scene) -> None:
        parts = EpochEndOffset(epoch=0, end_offset=1)
        again = answer_of(data_of(diverging_epoch=parts))
        partition = await scene.follow(answer_of(data_of(batch_at(0))), again, again, again)
        followed = next(iter(scene.broker.followers)).table.all["t", 0]
        assert followed.not_before_ms > 0
        assert partition.log.log_end_offset == 1

    play(tmp_path, work)


@SAYS_SO
@pytest.mark.parametrize("offset", [-1, -9, 0, 1, (1 << 63) - 1])
def test_an_offset_out_of_range_is_never_followed_into_nonsense(
    tmp_path: Path, offset: int
) -> None:
    async def work(scene: Scene) -> None:
        scene.offsets.offset = offset
        refused = answer_of(data_of(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
        partition = await scene.follow(answer_of(data_of(batch_at(0))), refused)
        log = partition.log
        assert 0 <= log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert log.log_end_offset in (0, 1, (1 << 63) - 1)

    play(tmp_path, work)


def test_records_that_come_by_the_byte_are_taken_when_they_are_whole(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        records = b"".join(batch_at(number) for number in range(50))
        partition = await scene.follow(
            answer_of(data_of(records[:-1])), answer_of(data_of(batch_at(49)))
        )
        assert partition.log.log_end_offset == 50

    play(tmp_path, work)


def test_offsets_that_a_leader_has_compacted_away_are_passed_over(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        far = 5_000_000_000  # more than a segment's index reaches
        first = batch_at(3) + batch_at(10) + batch_at(11)
        second = batch_at(4_000, b"a", b"b") + batch_at(far)
        answers = (answer_of(data_of(records)) for records in (first, second))
        partition = await scene.follow(*answers)
        log = partition.log
        assert log.log_end_offset == far + 1
        found = [log.read(offset, 1, bound=ReadBound.LOG_END) for offset in (0, 5, 12, 4_002)]
        assert all(each.records is not None for each in found)

    play(tmp_path, work)


def two_records_each(request: Request) -> Answer:
    """Two records for each partition that is asked for from its beginning, all in one answer."""
    asked: Any = request.message()
    answer = answer_of()
    for wanted in (each for topic in asked.topics for each in topic.partitions):
        data = data_of(b"" if wanted.fetch_offset else batch_at(0) + batch_at(1))
        data.partition_index = wanted.partition
        answer.responses[0].partitions.append(data)
    return answer if answer.responses[0].partitions else None


def test_five_hundred_partitions_of_one_answer_take_turns(tmp_path: Path) -> None:
    async def work(scene: Scene) -> None:
        count = 500
        infos = tuple(
            PartitionInfo(n, LEADER_ID, 0, (LEADER_ID, 0), (LEADER_ID,)) for n in range(count)
        )
        scene.leader.answer = two_records_each
        await scene.broker.hosting.lead_or_follow(TopicInfo("t", TOPIC_ID, infos))
        partitions = scene.broker.replicas.of_topic("t")
        await eventually(lambda: {each.log.log_end_offset for each in partitions} == {2})
        assert scene.broker.turns.interruptions > 0

    play(tmp_path, work)
