"""Transactions over the protocol: what coordinators know, what partitions know, and markers.

kafka-python's own methods raise at the first error and hide which partition it was about, so
these speak its requests directly. Every broker is asked for the transactional ids that it
coordinates, a partition's leader for its producers.
"""

import re
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from barnabas.server.cli.connection import Cluster, problem
from barnabas.server.cli.failures import Failure, did_you_mean
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.output import Row

PARTITIONS_PER_REQUEST = 500
COORDINATOR_LOAD_IN_PROGRESS = 14
LOADING_S, PAUSE_S = 15.0, 0.1
NO_OFFSET = NO_EPOCH = NO_TIME = -1
FIRST_COORDINATOR_EPOCH = 0
ALL_DURATIONS = -1


class Filters(NamedTuple):
    """Which transactional ids are listed; empty ones and ALL_DURATIONS let all through."""

    states: tuple[str, ...] = ()
    producer_ids: tuple[int, ...] = ()
    duration_ms: int = ALL_DURATIONS
    pattern: re.Pattern[str] | None = None


def listed(cluster: Cluster, wanted: Filters) -> dict[str, Row]:
    """Transactional ids with their coordinator, producer and state, by name."""
    found: dict[str, Row] = {}
    for broker_id in broker_ids(cluster):
        request = kafka("protocol.admin").ListTransactionsRequest(
            state_filters=list(wanted.states),
            producer_id_filters=list(wanted.producer_ids),
            duration_filter=wanted.duration_ms,
            min_version=0 if wanted.duration_ms == ALL_DURATIONS else 1,
        )
        answer = _when_loaded(cluster, request, broker_id)
        for each in answer.transaction_states:
            if wanted.pattern is None or wanted.pattern.fullmatch(each.transactional_id):
                found[each.transactional_id] = {
                    "transactional_id": each.transactional_id,
                    "coordinator": broker_id,
                    "producer_id": each.producer_id,
                    "state": each.transaction_state,
                }
    return found


def _when_loaded(cluster: Cluster, request: Any, broker_id: int) -> Any:
    """The answer; a broker that has just begun to coordinate is asked again."""
    deadline_s = time.monotonic() + LOADING_S
    while (answer := cluster.send(request, broker_id)).error_code == COORDINATOR_LOAD_IN_PROGRESS:
        if time.monotonic() > deadline_s:
            break
        time.sleep(PAUSE_S)
    if answer.error_code:
        raise Failure(f"broker {broker_id}: {problem(answer.error_code)}")
    return answer


def broker_ids(cluster: Cluster) -> list[int]:
    """Every broker of the cluster."""
    return sorted(broker["node_id"] for broker in cluster.describe()["brokers"])


def described(cluster: Cluster, name: str) -> tuple[Row, list[Place]]:
    """A transactional id, and the partitions of its open transaction. Failure if it is not."""
    known = listed(cluster, Filters())
    if name not in known:
        hint = did_you_mean(name, list(known)) or "; `barnabas transactions list` shows them all"
        raise Failure(f"there is no transactional id {name}{hint}")
    return _described(cluster, known[name])


def _described(cluster: Cluster, summary: Row) -> tuple[Row, list[Place]]:
    name = summary["transactional_id"]
    request = kafka("protocol.admin").DescribeTransactionsRequest(transactional_ids=[name])
    (answer,) = cluster.send(request, summary["coordinator"]).transaction_states
    if answer.error_code:
        raise Failure(f"{name}: {problem(answer.error_code)}")
    started_ms = answer.transaction_start_time_ms
    places = sorted((each.topic, number) for each in answer.topics for number in each.partitions)
    row = {
        "transactional_id": name,
        "state": answer.transaction_state,
        "coordinator": summary["coordinator"],
        "producer_id": answer.producer_id,
        "producer_epoch": answer.producer_epoch,
        "timeout_ms": answer.transaction_timeout_ms,
        "start_ms": started_ms if started_ms >= 0 else None,
        "duration_ms": now_ms() - started_ms if started_ms >= 0 and places else None,
    }
    return row, places


class Producer(NamedTuple):
    """A producer that a partition remembers; `start_offset` of its open transaction, or -1."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_ms: int

    @property
    def place(self) -> Place:
        """Where it is remembered."""
        return self.topic, self.partition

    @property
    def is_in_transaction(self) -> bool:
        """Whether it has a transaction open here."""
        return self.start_offset != NO_OFFSET


def producers(cluster: Cluster, places: Iterable[Place]) -> Iterator[Producer]:
    """The producers that the partitions' leaders remember. Failure where one has none."""
    for leader, group in _by_leader(cluster, list(places)).items():
        for first in range(0, len(group), PARTITIONS_PER_REQUEST):
            yield from _producers_at(cluster, leader, group[first : first + PARTITIONS_PER_REQUEST])


def _by_leader(cluster: Cluster, places: list[Place]) -> dict[int, list[Place]]:
    leaders = leaders_of(cluster, sorted({topic for topic, _ in places})) if places else {}
    found: dict[int, list[Place]] = {}
    for place in places:
        if place not in leaders:
            raise Failure(f"{place[0]} {place[1]}: it has no leader now")
        found.setdefault(leaders[place], []).append(place)
    return found


def leaders_of(cluster: Cluster, topics: list[str] | None = None) -> dict[Place, int]:
    """The leader of each partition that has one: of some topics, or of all."""
    return {
        (name, partition["partition_index"]): partition["leader_id"]
        for name, topic in cluster.topics(topics).items()
        for partition in topic["partitions"]
        if partition["leader_id"] >= 0
    }


def _producers_at(cluster: Cluster, leader: int, places: list[Place]) -> Iterator[Producer]:
    request = kafka("protocol.admin").DescribeProducersRequest(topics=_by_topic(places))
    for topic in cluster.send(request, leader).topics:
        for partition in topic.partitions:
            if partition.error_code:
                reason = problem(partition.error_code, partition.error_message)
                raise Failure(f"{topic.name} {partition.partition_index}: {reason}")
            for each in partition.active_producers:
                yield _producer(topic.name, partition.partition_index, each)


def _producer(topic: str, partition: int, told: Any) -> Producer:
    return Producer(
        topic,
        partition,
        told.producer_id,
        told.producer_epoch,
        told.coordinator_epoch,
        told.current_txn_start_offset,
        told.last_timestamp,
    )


def _by_topic(places: Iterable[Place]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, number in places:
        topics.setdefault(topic, []).append(number)
    return list(topics.items())


def hanging(cluster: Cluster, places: Iterable[Place], timeout_ms: float) -> list[Producer]:
    """Those with a transaction open longer than the timeout that no coordinator will end.

    How long is counted from the last batch, as Kafka does: a leader remembers no other time.
    """
    before_ms = now_ms() - timeout_ms
    found = [
        each
        for each in producers(cluster, places)
        if each.is_in_transaction and each.last_ms < before_ms
    ]
    if not found:
        return []
    ids = tuple(sorted({each.producer_id for each in found}))
    will_end = {
        (summary["producer_id"], place)
        for summary in listed(cluster, Filters(producer_ids=ids)).values()
        for place in _described(cluster, summary)[1]
    }
    return [each for each in found if (each.producer_id, each.place) not in will_end]


def write_abort(cluster: Cluster, place: Place, producer: Producer) -> None:
    """End the producer's transaction in this one partition, as if a coordinator said so."""
    write = kafka("protocol.producer").WriteTxnMarkersRequest
    marker = write.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=_by_topic([place]),
        # A leader that has seen no marker of this producer knows no coordinator's epoch: any
        # coordinator is at least as new as the first.
        coordinator_epoch=max(producer.coordinator_epoch, FIRST_COORDINATOR_EPOCH),
    )
    request = write(markers=[marker])
    (leader,) = _by_leader(cluster, [place])
    for result in cluster.send(request, leader).markers:
        for topic in result.topics:
            for partition in topic.partitions:
                if partition.error_code:
                    reason = problem(partition.error_code)
                    raise Failure(f"{place[0]} {place[1]} was not aborted: {reason}")


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000
