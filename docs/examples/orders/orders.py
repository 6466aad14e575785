"""Adds up orders by customer: an order counts once its offset is committed."""

from __future__ import annotations

import json
from collections import Counter

from confluent_kafka import Consumer, KafkaError, KafkaException, Message

RETRIED = {
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
}
LOST = {
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
}


class Orders:
    """One consumer of the group "orders"."""

    def __init__(self, bootstrap_servers: str, topic: str, **settings: object) -> None:
        self.totals: Counter[str] = Counter()
        self.commit_retries = 0
        self.handed_over = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "orders",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **settings,
            }
        )
        self._consumer.subscribe([topic])

    def run(self, count: int, timeout_s: float = 30.0) -> None:
        """Count `count` orders, each committed before the next."""
        done = 0
        while done < count:
            message = self._consumer.poll(timeout_s)
            if message is None:
                raise TimeoutError(f"{done} of {count} orders in {timeout_s} s")
            if message.error():
                raise KafkaException(message.error())
            if self._commit(message):
                self._add(message)
                done += 1
            else:
                self.handed_over += 1  # whoever has the partition now gets the order again

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _add(self, message: Message) -> None:
        order = json.loads(message.value())
        self.totals[order["customer"]] += order["amount"]

    def _commit(self, message: Message) -> bool:
        """Whether the order is ours to count: False if the group has moved on without us."""
        for _ in range(5):
            try:
                self._consumer.commit(message=message, asynchronous=False)
                return True
            except KafkaException as error:
                code = error.args[0].code()
                if code in LOST:
                    return False
                if code not in RETRIED:
                    raise
                self.commit_retries += 1
        raise TimeoutError("the commit was refused five times")
