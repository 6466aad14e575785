"""Values that have a meaning of their own in a controller's requests, for both of their ends."""

from typing import Final

LEADER_DURING_DELETION: Final = -2
"""The leader of a partition whose topic is being deleted; in StopReplica the leader epoch."""
WHOLE: Final = 2
"""The `type` of an UpdateMetadata that names every topic there is (KIP-866's FULL)."""
SECURITY_PROTOCOLS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
