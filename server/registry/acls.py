"""Who may do what with a znode, as Kafka sets it where `zookeeper.set.acl` is true.

Whoever made a znode may do everything, the world may read it; where the body is a secret it may
not. The root of the old consumers' registries stays open, since it is they who write below it
(Kafka's ZkData.defaultAcls).
"""

from typing import Final

from barnabas.server.registry import paths
from barnabas.server.registry.znodes.zookeeper_wire import OPEN, Acl, Permission

ALL_PERMISSIONS: Final = 31
READ: Final = 1
CREATOR: Final = (Permission(ALL_PERMISSIONS, "auth", ""),)
CREATOR_AND_READERS: Final = (*CREATOR, Permission(READ, "world", "anyone"))
SECRET_ROOTS: Final = (
    paths.entity_configs("users"),
    paths.entity_configs("brokers"),
    "/delegation_token/tokens",
)


def kafka_acl(path: str) -> Acl:
    """The ACL of a new znode."""
    if path == paths.CONSUMERS:
        return OPEN
    return CREATOR if path.startswith(SECRET_ROOTS) else CREATOR_AND_READERS
