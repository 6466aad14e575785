"""What can go wrong in Kafka's terms when the registry is read or written."""


class RegistryError(Exception):
    """A request that the state of the cluster does not allow."""


class ControllerMoved(RegistryError):
    """Another broker has become controller; the write did not happen (STALE_CONTROLLER_EPOCH)."""


class BrokerIdTaken(RegistryError):
    """Another live session has registered this broker id."""

    def __init__(self, broker_id: int) -> None:
        super().__init__(f"broker id {broker_id} is registered by another session")


class VersionConflict(RegistryError):
    """Somebody else has written meanwhile; the write did not happen, and may be tried anew."""


class TopicExists(RegistryError):
    """There is a topic of this name, or one on its way out (TOPIC_ALREADY_EXISTS)."""


class UnknownTopic(RegistryError):
    """There is no topic of this name (UNKNOWN_TOPIC_OR_PARTITION)."""


class ProducerIdsExhausted(RegistryError):
    """All 2^63 producer ids have been handed out."""
