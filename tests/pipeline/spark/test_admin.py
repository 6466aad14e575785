"""Which topics are there, as the cluster answers for each of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.pipeline.spark import admin as admin_module
from barnabas.pipeline.spark.admin import Admin, Topic
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

UNKNOWN = "UnknownTopicOrPartitionException"


class Py4JJavaError(Exception):
    """As py4j raises it: an exception of Java's, by its class."""

    __module__ = "py4j.protocol"

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.java_exception = SimpleNamespace(
            getClass=lambda: SimpleNamespace(getName=lambda: f"org.apache.kafka.{kind}"),
            getMessage=lambda: "Not authorized to access topics: [orders]",
            getCause=lambda: None,
        )


class Answer:
    """A future of Java's, with a topic's id or what went wrong."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def get(self) -> Any:
        if self.answer.endswith("Exception"):
            raise Py4JJavaError(self.answer)
        return SimpleNamespace(
            topicId=lambda: self.answer, partitions=lambda: SimpleNamespace(size=lambda: 2)
        )


class Client:
    """Kafka's admin client, which answers for each topic in turn; the last answer stays."""

    def __init__(self, **answers: list[str]) -> None:
        self.answers = answers

    def describeTopics(self, names: list[str]) -> Any:
        told = {name: Answer(self._next(self.answers[name])) for name in names}
        return SimpleNamespace(topicNameValues=lambda: told)

    def _next(self, answers: list[str]) -> str:
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "ASK_AGAIN_S", 0.001)


def existing(*names: str, **answers: list[str]) -> dict[str, Topic]:
    made = Admin.__new__(Admin)  # without a session, which would be asked for a real client
    made._cluster, made._admin = KafkaCluster("127.0.0.1:1"), Client(**answers)
    return made.existing(names)


def test_a_topic_that_the_broker_does_not_know_yet_is_asked_for_again() -> None:
    found = existing("orders", "clicks", orders=[UNKNOWN, UNKNOWN, "id"], clicks=["other"])
    assert found == {"orders": Topic("orders", "id", 2), "clicks": Topic("clicks", "other", 2)}


def test_a_topic_of_a_cluster_without_ids_has_none() -> None:
    assert existing("orders", orders=["A" * 22]) == {"orders": Topic("orders", None, 2)}


def test_a_topic_that_stays_unknown_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "GONE_AFTER_S", 0.02)
    assert existing("orders", orders=[UNKNOWN]) == {}


def test_what_can_be_no_topic_is_not_asked_for_again() -> None:
    assert existing("orders", orders=["InvalidTopicException", "id"]) == {}


def test_a_topic_that_may_not_be_seen_is_not_taken_for_gone() -> None:
    with pytest.raises(PipelineError, match=r"127\.0\.0\.1:1: this client may not do that: Not"):
        existing("orders", orders=["TopicAuthorizationException"])
