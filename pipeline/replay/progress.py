"""How far a replay has come: offsets of a consumer group that nobody is a member of.

A partition's offset is that of the next row of the lake. It is first committed when the replay
begins, in a transaction of its own, and from then on in the transactions that write the rows, so
that the two never disagree. Read at isolation level read_committed, which waits for offsets of
transactions that are ending.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from barnabas.pipeline.replay.plan import Part, Plan
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.python_client import Settings

CALL_TIMEOUT_S = 20.0
AT_ONCE = 500  # partitions of one request
# Of the settings of a writer, those that a consumer would warn of or refuse.
OF_PRODUCERS = frozenset(
    {"batch.size", "compression.type", "delivery.timeout.ms", "linger.ms", "transaction.timeout.ms"}
)


class Progress:
    """The offsets of one replay's group."""

    def __init__(self, settings: Settings, plan: Plan) -> None:
        kept = {name: value for name, value in settings.items() if name not in OF_PRODUCERS}
        ours: Settings = {
            "group.id": plan.group,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        self._settings, self._plan = settings, plan
        self._consumer = Consumer(kept | ours)

    @property
    def group_metadata(self) -> Any:
        """What a transaction commits offsets with."""
        return self._consumer.consumer_group_metadata()

    def next_offsets(self, parts: Sequence[Part]) -> list[int | None]:
        """Of each part the offset of the next row; None where nothing was committed."""
        found: list[int | None] = []
        for some in _in_turn(parts):
            asked = [TopicPartition(part.target, part.partition) for part in some]
            answered = self._consumer.committed(asked, CALL_TIMEOUT_S)
            for each in answered:
                if each.error is not None:  # which is not the same as having no offset
                    raise KafkaException(each.error)
            by_name = {(each.topic, each.partition): each.offset for each in answered}
            offsets = (by_name[part.target, part.partition] for part in some)
            found += [offset if offset >= 0 else None for offset in offsets]
        return found

    def begin(self, parts: Sequence[Part]) -> None:
        """Commit where each part begins that has not begun yet.

        Of two that do so at the same time the later one fences the earlier one off before it
        looks: what has been written since is never taken back.
        """
        producer = Producer(self._settings | {"transactional.id": self._plan.group})
        producer.init_transactions(CALL_TIMEOUT_S)
        offsets = self.next_offsets(parts)
        new = [part for part, offset in zip(parts, offsets, strict=True) if offset is None]
        if not new:
            return
        producer.begin_transaction()
        for some in _in_turn(new):
            at = [offset_of(part, part.first) for part in some]
            producer.send_offsets_to_transaction(at, self.group_metadata, CALL_TIMEOUT_S)
        producer.commit_transaction(CALL_TIMEOUT_S)

    def end_of(self, part: Part) -> int:
        """The offset at which the target partition ends, open transactions included."""
        return self._consumer.get_watermark_offsets(
            TopicPartition(part.target, part.partition), CALL_TIMEOUT_S, cached=False
        )[1]

    def close(self) -> None:
        self._consumer.close()


def forgotten(part: Part) -> PipelineError:
    """What is in the way when a part that has begun has no offset."""
    return PipelineError(
        f"the cluster has forgotten how far the replay had come in {part.name} "
        "(offsets.retention.minutes); empty the targets and begin with another --checkpoint"
    )


def offset_of(part: Part, next_offset: int) -> TopicPartition:
    """What is committed when the rows before `next_offset` have been written."""
    return TopicPartition(part.target, part.partition, next_offset, metadata=part.topic_id)


def _in_turn(parts: Sequence[Part]) -> Iterable[Sequence[Part]]:
    return (parts[at : at + AT_ONCE] for at in range(0, len(parts), AT_ONCE))
