"""A task that writes its partitions, with a producer that only keeps what it is given."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from barnabas.pipeline.generate import write
from barnabas.pipeline.generate.plan import HOUR_MS, Plan
from barnabas.pipeline.generate.write import Target, Writing
from barnabas.pipeline.spark.failures import PipelineError

PLAN = Plan(3_000, seed=2, span_ms=HOUR_MS)
PARTITIONS = 5
Record = tuple[bytes, bytes, int]


class Topic:
    """Partitions as lists, and a producer that appends to them; its queue is full now and then."""

    def __init__(self) -> None:
        self.partitions: list[list[Record]] = [[] for _ in range(PARTITIONS)]
        self.polled_s: list[float] = []
        self._calls = 0

    def produce(
        self, topic: str, value: bytes, key: bytes, partition: int, *, timestamp: int
    ) -> None:
        self._calls += 1
        if self._calls % 100 == 0:
            raise BufferError("queue full")
        self.partitions[partition].append((key, value, timestamp))

    def poll(self, seconds: float) -> int:
        self.polled_s.append(seconds)
        return 0

    def flush(self, seconds: float) -> int:
        return 0


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic()
    monkeypatch.setattr(Writing, "_new_producer", lambda _: made)
    monkeypatch.setattr(
        write, "log_ends", lambda _settings, _topic, own: {n: len(made.partitions[n]) for n in own}
    )
    return made


def target(**options: Any) -> Target:
    return Target("visits", (0,) * PARTITIONS, {}, **options)


def written(topic: Topic, tasks: int) -> list[list[Record]]:
    for number in range(tasks):
        Writing(PLAN, target(), range(number, PARTITIONS, tasks)).run()
    found, topic.partitions = topic.partitions, [[] for _ in range(PARTITIONS)]
    return found


def test_partitions_are_the_same_however_many_tasks_write_them(topic: Topic) -> None:
    once = written(topic, 1)
    assert sum(map(len, once)) == PLAN.events
    assert written(topic, 2) == once
    assert written(topic, 5) == once


def test_a_task_that_is_repeated_goes_on_where_its_partitions_end(topic: Topic) -> None:
    whole = written(topic, 1)
    topic.partitions = [part[: 50 * number] for number, part in enumerate(whole)]
    rows = Writing(PLAN, target(), range(PARTITIONS)).run()
    assert topic.partitions == whole
    assert [row[:3] for row in rows] == [(n, len(part), 50 * n) for n, part in enumerate(whole)]


def test_records_of_somebody_else_are_noticed(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flush(seconds: float) -> int:
        topic.partitions[1].append((b"key", b"value", 0))
        return 0

    monkeypatch.setattr(topic, "flush", flush)
    with pytest.raises(PipelineError, match="somebody else writes there"):
        Writing(PLAN, target(), range(PARTITIONS)).run()


def test_a_record_that_is_refused_ends_the_task(topic: Topic) -> None:
    class Refusal:
        def str(self) -> str:
            return "Broker: Message size too large"

    writing = Writing(PLAN, target(), range(PARTITIONS))
    writing._on_failed(Refusal(), None)
    with pytest.raises(PipelineError, match="visits takes no records: Broker: Message size too"):
        writing.run()


def test_at_a_rate_a_record_waits_until_it_is_due(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    due: list[tuple[int, float]] = []

    def poll(seconds: float) -> int:
        nonlocal now
        now += seconds
        due.append((sum(map(len, topic.partitions)), now))
        return 0

    monkeypatch.setattr(write.time, "time", lambda: now)
    monkeypatch.setattr(topic, "poll", poll)
    Writing(PLAN, target(per_second=100.0, begun_at=1_000.0), range(PARTITIONS)).run()
    assert now == pytest.approx(1_000 + (PLAN.events - 5) / 100, abs=0.2)
    assert all(written <= (time - 1_000) * 100 + 5 for written, time in due)


class Away:
    """A consumer whose broker is away, or says no, so many times."""

    def __init__(self, times: int, code: int, *, retriable: bool = False) -> None:
        self._times, self._error = times, KafkaError(code, "no", retriable=retriable)
        self.is_closed = False

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        self._times -= 1
        if self._times >= 0:
            raise KafkaException(self._error)
        return 3, 70

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("code", "retriable"),
    [(KafkaError._TRANSPORT, False), (KafkaError.NOT_LEADER_FOR_PARTITION, True)],
)
def test_where_a_partition_ends_is_asked_again_while_its_broker_is_away(
    monkeypatch: pytest.MonkeyPatch, code: int, retriable: bool
) -> None:
    """A broker that is killed when all was written is no reason to write all of it again."""
    away = Away(2, code, retriable=retriable)
    monkeypatch.setattr(confluent_kafka, "Consumer", lambda _: away)
    monkeypatch.setattr(write, "ASK_PAUSE_S", 0)
    assert write.log_ends({}, "visits", [0, 1]) == {0: 70, 1: 70}
    assert away.is_closed


def test_a_topic_that_does_not_say_where_it_ends_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = Away(1, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    monkeypatch.setattr(confluent_kafka, "Consumer", lambda _: refused)
    with pytest.raises(PipelineError, match="visits does not say where it ends: no"):
        write.log_ends({}, "visits", [0])
    away = Away(1, KafkaError._TRANSPORT)
    monkeypatch.setattr(confluent_kafka, "Consumer", lambda _: away)
    monkeypatch.setattr(write, "ASK_PATIENCE_S", -1.0)
    with pytest.raises(PipelineError, match="visits does not say where it ends: no"):
        write.log_ends({}, "visits", [0])
    assert refused.is_closed and away.is_closed
