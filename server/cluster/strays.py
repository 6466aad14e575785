"""Logs that a broker finds at its start and should not have.

A topic that was deleted, or deleted and created again, may leave its old logs behind: the broker
was killed half-way, a disk had failed, a power cut took the renaming back. Their names would be
in the way of the new topic's, for ever. Kafka sets them aside as they are loaded
(LogManager's `isStray`); so do we, by what the registry says before anything is opened.
"""

from collections.abc import Mapping

from barnabas.server.registry.bodies import TopicAssignment
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.manager.data_directory import ReplicasOf


def replica_counter(topics: Mapping[str, TopicAssignment], broker_id: int) -> ReplicasOf:
    """Counts the replicas of partitions that have one here.

    0 for logs that no assignment gives to this broker, or that belong to another topic id.
    """

    def replicas_of(partition: TopicPartition, topic_id: bytes | None) -> int:
        topic = topics.get(partition.topic)
        if topic is None or (None not in (topic_id, topic.topic_id) and topic_id != topic.topic_id):
            return 0
        replicas = topic.replicas.get(partition.partition, ())
        return len(replicas) if broker_id in replicas else 0

    return replicas_of
