"""What a group's members speak: the protocol that they use, and what consumers subscribe to.

All must know the protocol, and the most prefer it. A member's metadata for it is opaque to the
group; of a consumer's the beginning is known: int16 version, then an array of topic names, the
same in every version (ConsumerProtocolSubscription).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION_BYTES = 2
Protocols = tuple[tuple[str, bytes], ...]
"""What a member speaks, in order of preference: names and its metadata for each."""


def names_of(protocols: Protocols) -> set[str]:
    """The names alone."""
    return {name for name, _ in protocols}


def metadata_for(protocols: Protocols, name: str) -> bytes:
    """A member's metadata for one protocol; empty if it does not speak it."""
    for each, metadata in protocols:
        if each == name:
            return metadata
    return b""


def common_protocols(members: Iterable[Protocols]) -> set[str]:
    """The protocols that all members speak."""
    common: set[str] | None = None
    for protocols in members:
        names = names_of(protocols)
        common = names if common is None else common & names
    return common or set()


def select_protocol(members: Sequence[Protocols]) -> str:
    """The common protocol with the most votes; of equals the one voted for first.

    Every member votes for the first on its list that all speak. Raises ValueError if there is
    none.
    """
    candidates = common_protocols(members)
    votes = Counter(
        next(name for name, _ in protocols if name in candidates)
        for protocols in members
        if candidates
    )
    if not votes:
        raise ValueError("the members have no protocol in common")
    return max(votes, key=votes.__getitem__)


def subscribed_topics(metadata: Iterable[bytes]) -> set[str] | None:
    """The topics of all members together; None if one of them cannot be read."""
    topics: set[str] = set()
    try:
        for each in metadata:
            topics.update(ConsumerProtocolSubscription.at(0).parse(each, _VERSION_BYTES).topics)
    except ProtocolError:
        return None
    return topics
