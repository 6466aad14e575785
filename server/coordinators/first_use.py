"""The first use of a coordinator makes its topic.

Kafka refuses requests until the topic is there, and clients come again a little later. Here
whoever is first waits for it instead, some milliseconds on the embedded registry; only if it
does not come up in time is the request refused, as there is no coordinator.
"""

from collections.abc import Callable
from typing import TypeVar

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.cluster.topics import Topics
from barnabas.server.core.awaiting import given
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import REFUSALS
from barnabas.server.observing.logs import Log

R = TypeVar("R")
CREATION_TIMEOUT_MS = 5_000


def is_first_use(metadata: ClusterMetadata, topic: str) -> bool:
    """Whether the topic is still to be made."""
    return topic not in metadata.topics


async def after_creation(
    topics: Topics, topic: str, serve: Callable[[], R | Deferred[R]], log: Log
) -> R:
    """Make the topic, then serve the request, whether there is one or not."""
    try:
        if not await topics.ensure_internal(topic):
            await topics.wait_until_served(topic, CREATION_TIMEOUT_MS)
    except REFUSALS as error:
        log.warn(f"cannot create {topic}", error=error)
    answer = serve()
    return await given(answer) if isinstance(answer, Deferred) else answer
