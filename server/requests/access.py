"""Who may do what to which resource, in the words of Kafka's ACLs.

`RequestContext.may` is where it is asked. Without an authorizer everybody may everything; one
that is to come (`authorizer.class.name`) is an `Authorizer`.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from barnabas.server.network.principal import Principal


class Operation(IntEnum):
    """What can be done: org.apache.kafka.common.acl.AclOperation."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class ResourceKind(IntEnum):
    """What it can be done to: org.apache.kafka.common.resource.ResourceType."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4


class Resource(NamedTuple):
    """One thing."""

    kind: ResourceKind
    name: str


CLUSTER: Final = Resource(ResourceKind.CLUSTER, "kafka-cluster")

CLUSTER_OPERATIONS: Final = (
    Operation.CREATE, Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS, Operation.IDEMPOTENT_WRITE,
)  # fmt: skip
TOPIC_OPERATIONS: Final = (
    Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER,
    Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS,
)  # fmt: skip
GROUP_OPERATIONS: Final = (Operation.READ, Operation.DELETE, Operation.DESCRIBE)
# Since 4.0 a group has configs.
GROUP_CONFIG_OPERATIONS: Final = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)


class Authorizer(Protocol):
    """Decides."""

    def may(self, principal: Principal, operation: Operation, resource: Resource) -> bool: ...


class AllowEverything:
    """A broker without an authorizer."""

    def may(self, principal: Principal, operation: Operation, resource: Resource) -> bool:
        """Yes."""
        return True


def bits_of(operations: Iterable[Operation]) -> int:
    """Authorized operations as answers have them: a bit for each (KIP-430)."""
    return sum(1 << operation for operation in operations)
