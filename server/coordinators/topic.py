"""An internal topic as its coordinator has to know it."""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.wire.error_codes import ErrorCode

LOG_ERRORS: Mapping[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
"""What a log's errors are to clients of any coordinator: a leader that moved is one that moved."""


class CoordinatedTopic(NamedTuple):
    """Where a coordinator keeps its state, and how it writes there.

    `keeps` says in log lines what the state is. `partition_count` is how many the topic gets
    when it is made. `codec` is a number of `storage.batch.compression.Codec`. `errors` are the
    log's errors by what the coordinator's clients are told instead.
    """

    name: str
    keeps: str
    partition_count: int
    load_buffer_bytes: int
    required_acks: int
    write_timeout_ms: int
    codec: int = 0
    errors: Mapping[ErrorCode, ErrorCode] = LOG_ERRORS
