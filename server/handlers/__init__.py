"""One file per API: what it answers, at which versions, and what Kafka does that this copies.

A handler module declares `VERSIONS` and `handle(request, context)`, which returns a response,
a wait (`delayed.Wait`), a coroutine that ends in a response, or None for no answer at all.
`HANDLERS` is the one list: dispatch, and ApiVersions, which cannot lie, derive from it. The
ranges stand here as well as in the modules so that answering ApiVersions imports none of them;
a test holds the two equal.
"""

from typing import NamedTuple

from barnabas.wire.api import ApiKey


class Versions(NamedTuple):
    """First and last version that a handler serves."""

    first: int
    last: int


HANDLERS: dict[ApiKey, Versions] = {
    ApiKey.PRODUCE: Versions(0, 13),
    ApiKey.FETCH: Versions(0, 18),
    ApiKey.LIST_OFFSETS: Versions(0, 11),
    ApiKey.METADATA: Versions(0, 13),
    ApiKey.LEADER_AND_ISR: Versions(0, 7),
    ApiKey.STOP_REPLICA: Versions(0, 4),
    ApiKey.UPDATE_METADATA: Versions(0, 8),
    ApiKey.CONTROLLED_SHUTDOWN: Versions(0, 3),
    ApiKey.OFFSET_COMMIT: Versions(0, 10),
    ApiKey.OFFSET_FETCH: Versions(0, 10),
    ApiKey.FIND_COORDINATOR: Versions(0, 6),
    ApiKey.JOIN_GROUP: Versions(0, 9),
    ApiKey.HEARTBEAT: Versions(0, 4),
    ApiKey.LEAVE_GROUP: Versions(0, 5),
    ApiKey.SYNC_GROUP: Versions(0, 5),
    ApiKey.DESCRIBE_GROUPS: Versions(0, 6),
    ApiKey.LIST_GROUPS: Versions(0, 5),
    ApiKey.SASL_HANDSHAKE: Versions(0, 1),
    ApiKey.API_VERSIONS: Versions(0, 5),
    ApiKey.CREATE_TOPICS: Versions(0, 7),
    ApiKey.DELETE_TOPICS: Versions(0, 6),
    ApiKey.DELETE_RECORDS: Versions(0, 2),
    ApiKey.INIT_PRODUCER_ID: Versions(0, 5),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Versions(0, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: Versions(0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: Versions(0, 4),
    ApiKey.END_TXN: Versions(0, 5),
    ApiKey.WRITE_TXN_MARKERS: Versions(0, 2),
    ApiKey.TXN_OFFSET_COMMIT: Versions(0, 6),
    ApiKey.DESCRIBE_ACLS: Versions(0, 3),
    ApiKey.CREATE_ACLS: Versions(0, 3),
    ApiKey.DELETE_ACLS: Versions(0, 3),
    ApiKey.DESCRIBE_CONFIGS: Versions(0, 4),
    ApiKey.ALTER_CONFIGS: Versions(0, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Versions(0, 2),
    ApiKey.DESCRIBE_LOG_DIRS: Versions(0, 5),
    ApiKey.SASL_AUTHENTICATE: Versions(0, 2),
    ApiKey.CREATE_PARTITIONS: Versions(0, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: Versions(0, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: Versions(0, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: Versions(0, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Versions(0, 3),
    ApiKey.DELETE_GROUPS: Versions(0, 3),
    ApiKey.ELECT_LEADERS: Versions(0, 2),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Versions(0, 1),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Versions(0, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Versions(0, 0),
    ApiKey.OFFSET_DELETE: Versions(0, 0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Versions(0, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: Versions(0, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Versions(0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Versions(0, 0),
    ApiKey.ALTER_PARTITION: Versions(0, 3),
    ApiKey.UPDATE_FEATURES: Versions(0, 2),
    ApiKey.DESCRIBE_CLUSTER: Versions(0, 2),
    ApiKey.DESCRIBE_PRODUCERS: Versions(0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: Versions(0, 0),
    ApiKey.LIST_TRANSACTIONS: Versions(0, 2),
    ApiKey.ALLOCATE_PRODUCER_IDS: Versions(0, 0),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Versions(0, 1),
    ApiKey.LIST_CONFIG_RESOURCES: Versions(0, 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Versions(0, 0),
}
