"""Every znode path Kafka uses, as constants and functions.

Topic, group and entity names are put in as they are: percent-encoding of user, client and ip
names is the business of `configs`.
"""

CONSUMERS = "/consumers"
BROKER_IDS = "/brokers/ids"
TOPICS = "/brokers/topics"
BROKER_SEQUENCE = "/brokers/seqid"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"

CONFIG_CHANGE_PREFIX = "config_change_"
ISR_CHANGE_PREFIX = "isr_change_"
LOG_DIR_EVENT_PREFIX = "log_dir_event_"

PERSISTENT_PATHS = (
    CONSUMERS,
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)
"""What a starting broker makes sure of, in Kafka's order (KafkaZkClient.createTopLevelPaths)."""


def broker(broker_id: int) -> str:
    """The ephemeral registration of a broker."""
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    """The assignment of a topic."""
    return f"{TOPICS}/{name}"


def partitions(topic_name: str) -> str:
    """The parent of a topic's partitions."""
    return f"{TOPICS}/{topic_name}/partitions"


def partition(topic_name: str, partition_index: int) -> str:
    """The parent of a partition's state."""
    return f"{TOPICS}/{topic_name}/partitions/{partition_index}"


def partition_state(topic_name: str, partition_index: int) -> str:
    """Leader, epochs and in-sync replicas of a partition."""
    return f"{TOPICS}/{topic_name}/partitions/{partition_index}/state"


def entity_configs(entity_type: str) -> str:
    """The parent of all configs of a type: topics, brokers, clients, users, ips."""
    return f"{CONFIG}/{entity_type}"


def entity_config(entity_path: str) -> str:
    """The config of an entity named like `topics/t1` or `users/alice/clients/app`."""
    return f"{CONFIG}/{entity_path}"


def deleted_topic(name: str) -> str:
    """The mark that asks for a topic's deletion."""
    return f"{DELETE_TOPICS}/{name}"


def sequential(parent: str, prefix: str) -> str:
    """What to create sequentially for the next change notification under `parent`."""
    return f"{parent}/{prefix}"


def consumer_offset(group: str, topic_name: str, partition_index: int) -> str:
    """The offset an old consumer group committed."""
    return f"{CONSUMERS}/{group}/offsets/{topic_name}/{partition_index}"


def consumer_ids(group: str) -> str:
    """The parent of an old consumer group's members."""
    return f"{CONSUMERS}/{group}/ids"


def consumer_owners(group: str, topic_name: str) -> str:
    """The parent of an old consumer group's claims on a topic's partitions."""
    return f"{CONSUMERS}/{group}/owners/{topic_name}"
