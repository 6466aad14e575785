"""What consumers subscribe to, read out of the metadata that they join with.

The metadata is opaque to the group protocol; of a consumer's the beginning is known: int16
version, then an array of topic names, the same in every version (ConsumerProtocolSubscription).
"""

from collections.abc import Iterable

from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION_BYTES = 2


def subscribed_topics(metadata: Iterable[bytes]) -> set[str] | None:
    """The topics of all members together; None if one of them cannot be read."""
    topics: set[str] = set()
    try:
        for each in metadata:
            topics.update(ConsumerProtocolSubscription.at(0).parse(each, _VERSION_BYTES).topics)
    except ProtocolError:
        return None
    return topics
