"""Moving replicas and leaders over the protocol: KIP-455 and KIP-460, answered by the controller.

kafka-python's own methods lose the brokers' words, and which partition an error was about.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from barnabas.server.cli.connection import Cluster, problem
from barnabas.server.cli.failures import Failure
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.reassignment_plan import named

TIMEOUT_MS: Final = 60_000
NOT_CONTROLLER: Final = 41
ELECTION_NOT_NEEDED: Final = 84
NO_REASSIGNMENT: Final = 85
PREFERRED, UNCLEAN = 0, 1
CONTROLLER_S, PAUSE_S = 15.0, 0.1


class Move(NamedTuple):
    """A reassignment under way: what the partition has now, what of it comes and what goes."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


def reassign(cluster: Cluster, plan: Mapping[Place, Sequence[int] | None]) -> dict[Place, str]:
    """Begin to give partitions these replicas; with None end what is under way, if it still is.

    What was refused, and why. Raises Failure if all of it was.
    """
    topics = [
        (name, [(index, None if new is None else list(new)) for index, new in partitions])
        for name, partitions in _by_topic(plan.items())
    ]
    request = kafka("protocol.admin").AlterPartitionReassignmentsRequest(
        timeout_ms=TIMEOUT_MS, topics=topics
    )
    answer = _ask_controller(cluster, request)
    return {
        (topic.name, each.partition_index): problem(each.error_code, each.error_message)
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
        and not (
            each.error_code == NO_REASSIGNMENT and plan[topic.name, each.partition_index] is None
        )
    }


def under_way(cluster: Cluster) -> dict[Place, Move]:
    """All reassignments that have not ended."""
    request = kafka("protocol.admin").ListPartitionReassignmentsRequest(
        timeout_ms=TIMEOUT_MS, topics=None
    )
    answer = _ask_controller(cluster, request)
    return {
        (topic.name, each.partition_index): Move(
            list(each.replicas), list(each.adding_replicas), list(each.removing_replicas)
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def elect(
    cluster: Cluster, places: Sequence[Place] | None, election_type: int
) -> tuple[list[Place], dict[Place, str]]:
    """Hold elections, of all partitions without places: who needed one, what was refused and why.

    Raises Failure.
    """
    wanted = None
    if places is not None:
        by_topic = _by_topic((place, None) for place in places)
        wanted = [(name, [index for index, _ in found]) for name, found in by_topic]
    request = kafka("protocol.admin").ElectLeadersRequest(
        election_type=election_type, topic_partitions=wanted, timeout_ms=TIMEOUT_MS
    )
    answer = _ask_controller(cluster, request)
    elected: list[Place] = []
    refused: dict[Place, str] = {}
    for topic in answer.replica_election_results:
        for each in topic.partition_result:
            place = (topic.topic, each.partition_id)
            if not each.error_code:
                elected.append(place)
            elif each.error_code != ELECTION_NOT_NEEDED:
                refused[place] = problem(each.error_code, each.error_message)
    return sorted(elected), refused


def refusals(refused: Mapping[Place, str]) -> Failure:
    """The end of a command of which something was refused."""
    return Failure("; ".join(f"{named(place)}: {why}" for place, why in sorted(refused.items())))


def _by_topic(items: Iterable[tuple[Place, Any]]) -> list[tuple[str, list[tuple[int, Any]]]]:
    topics: dict[str, list[tuple[int, Any]]] = {}
    for (name, index), value in items:
        topics.setdefault(name, []).append((index, value))
    return list(topics.items())


def _ask_controller(cluster: Cluster, request: Any) -> Any:
    """The controller's answer; while another takes over it is looked for. Raises Failure."""
    deadline = time.monotonic() + CONTROLLER_S
    while True:
        controller_id = cluster.describe()["controller_id"]
        if controller_id >= 0:
            answer = cluster.send(request, controller_id)
            if answer.error_code != NOT_CONTROLLER:
                break
        if time.monotonic() > deadline:
            raise Failure("the cluster has no controller")
        time.sleep(PAUSE_S)
    if answer.error_code:
        message = getattr(answer, "error_message", None)
        raise Failure(problem(answer.error_code, message))
    return answer
