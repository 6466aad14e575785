"""Partitions by name, and which names a topic may have (Kafka's Topic class)."""

import re

from barnabas.server.core.errors import ApiError
from barnabas.wire.error_codes import ErrorCode

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
TopicPartition = tuple[str, int]
"""A partition by its topic's name and its index."""

LONGEST_NAME = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def name_fault(name: str) -> ApiError | None:
    """Why no topic may have this name, or None: error 17 and Kafka's reason."""
    reason = None
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > LONGEST_NAME:
        reason = f"the length of '{name}' is longer than the max allowed length {LONGEST_NAME}"
    elif not _LEGAL.fullmatch(name):
        reason = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'"
        )
    if reason is None:
        return None
    return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
