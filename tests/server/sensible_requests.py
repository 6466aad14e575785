"""One request of each served API that makes sense, and the ways into its fields.

`SENSIBLE` holds what each API is asked, with the fields of all its versions filled in; `fit` takes
out those that a version does not have. `numbers_in` and `texts_in` name the fields of a request.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.arrays import Array
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.primitives import Fixed
from barnabas.wire.schema import Message, Struct
from barnabas.wire.strings import StringCodec
from barnabas.wire.structs import StructKind
from tests.server.group_requests import SUBSCRIPTION, Member
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce

Values = dict[str, Any]
OF_A_TRANSACTION: Values = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0}
SESSION_MS = 500  # of members that others of the same group wait for
BITS = {"b": 8, "h": 16, "i": 32, "q": 64}


class World:
    """A broker with something in it to ask about."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.topic = self.new_topic()
        with RawClient(broker.port) as client:
            asked = MetadataRequest(topics=[MetadataRequestTopic(name=self.topic)])
            found = client.call(asked, 12)
        self.topic_id = found.topics[0].topic_id
        self.broker_id = found.brokers[0].node_id

    def new_topic(self) -> str:
        """A topic with records in its first partition."""
        name = self.broker.create_topic(unique("t"), partitions=2)
        with RawClient(self.broker.port) as client:
            assert produce(client, name, make_batch(b"a", b"b")).error_code == 0
        return name

    def new_member(self) -> Member:
        """Alone in a stable group of its own."""
        member = Member(self.broker, unique("g"))
        with member:
            member.join()
            member.sync(**{member.member_id: b"all"})
        return member


def _produce(world: World) -> Values:
    data = {"index": 0, "records": bytes(make_batch(b"v"))}
    topic = {"name": world.topic, "topic_id": world.topic_id, "partitions": [data]}
    return {"acks": -1, "timeout_ms": 1000, "topics": [topic]}


def _fetch(world: World) -> Values:
    wanted = {
        "partition": 0,
        "current_leader_epoch": 0,
        "fetch_offset": 0,
        "partition_max_bytes": 1000,
    }
    named = {"topic": world.topic, "topic_id": world.topic_id}
    return {
        "max_wait_ms": 1,
        "min_bytes": 1,
        "max_bytes": 1000,
        "topics": [{**named, "partitions": [wanted]}],
        "forgotten_topics_data": [{**named, "partitions": [1]}],
        "replica_state": {},
    }


def _list_offsets(world: World) -> Values:
    asked = {"partition_index": 0, "current_leader_epoch": 0, "timestamp": 5}
    return {"replica_id": -1, "topics": [{"name": world.topic, "partitions": [asked]}]}


def _of_controller(world: World) -> Values:
    """What every controller says of itself; as new as the newest that has been heard of."""
    control = world.broker.server.control
    return {"controller_id": 0, "controller_epoch": control.controller_epoch, "broker_epoch": -1}


def _leader_and_isr(world: World) -> Values:
    state = {
        "topic_name": world.topic, "partition_index": 1, "controller_epoch": 1, "leader": 7,
        "leader_epoch": 1, "isr": [0], "partition_epoch": 1, "replicas": [0, 7],
        "adding_replicas": [0], "removing_replicas": [7], "is_new": False,
        "leader_recovery_state": 0,
    }  # fmt: skip
    topic = {"topic_name": world.topic, "topic_id": world.topic_id, "partition_states": [state]}
    return {
        **_of_controller(world),
        "type": 0,
        "ungrouped_partition_states": [state],
        "topic_states": [topic],
        "live_leaders": [{"broker_id": 7, "host_name": "h", "port": 1}],
    }


def _update_metadata(world: World) -> Values:
    state = {
        "topic_name": world.topic, "partition_index": 1, "controller_epoch": 1, "leader": 0,
        "leader_epoch": 1, "isr": [0], "zk_version": 1, "replicas": [0, 7],
        "offline_replicas": [7],
    }  # fmt: skip
    topic = {"topic_name": world.topic, "topic_id": world.topic_id, "partition_states": [state]}
    endpoint = {"port": 1, "host": "h", "listener": "PLAINTEXT", "security_protocol": 0}
    broker = {"id": 7, "v0_host": "h", "v0_port": 1, "endpoints": [endpoint], "rack": "r"}
    return {
        **_of_controller(world),
        "type": 0,
        "ungrouped_partition_states": [state],
        "topic_states": [topic],
        "live_brokers": [broker],
    }


def _alter_partition(world: World) -> Values:
    state = {
        "partition_index": 1, "leader_epoch": 0, "new_isr": [world.broker_id],
        "new_isr_with_epochs": [{"broker_id": world.broker_id, "broker_epoch": -1}],
        "leader_recovery_state": 0, "partition_epoch": 0,
    }  # fmt: skip
    topic = {"topic_name": world.topic, "topic_id": world.topic_id, "partitions": [state]}
    epoch = world.broker.server.membership.broker_epoch
    return {"broker_id": world.broker_id, "broker_epoch": epoch, "topics": [topic]}


def _stop_replica(world: World) -> Values:
    stopped = {"partition_index": 1, "leader_epoch": 1, "delete_partition": True}
    return {
        **_of_controller(world),
        "delete_partitions": True,
        "ungrouped_partitions": [{"topic_name": world.topic, "partition_index": 1}],
        "topics": [{"name": world.topic, "partition_indexes": [1]}],
        "topic_states": [{"topic_name": world.topic, "partition_states": [stopped]}],
    }


def _controlled_shutdown(world: World) -> Values:
    """Of a broker that nobody has heard of: the one that there is would lead no more."""
    return {"broker_id": 7, "broker_epoch": -1}


def _alter_partition_reassignments(world: World) -> Values:
    partition = {"partition_index": 0, "replicas": [world.broker_id]}
    return {
        "timeout_ms": 1000,
        "allow_replication_factor_change": True,
        "topics": [{"name": world.topic, "partitions": [partition]}],
    }


def _allocate_producer_ids(world: World) -> Values:
    server = world.broker.server
    return {"broker_id": world.broker_id, "broker_epoch": server.membership.broker_epoch}


def _list_partition_reassignments(world: World) -> Values:
    return {"timeout_ms": 1000, "topics": [{"name": world.topic, "partition_indexes": [0]}]}


def _offset_commit(world: World) -> Values:
    offset = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    topic = {"name": world.topic, "topic_id": world.topic_id, "partitions": [offset]}
    return {"group_id": unique("g"), "topics": [topic]}


def _offset_fetch(world: World) -> Values:
    group = unique("g")
    topic = {"name": world.topic, "partition_indexes": [0]}
    by_id = {**topic, "topic_id": world.topic_id}
    return {
        "group_id": group,
        "topics": [topic],
        "groups": [{"group_id": group, "topics": [by_id]}],
    }


def _join_group(world: World) -> Values:
    return {
        "group_id": unique("g"),
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "group_instance_id": "one",
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": SUBSCRIPTION}],
    }


def _sync_group(world: World) -> Values:
    member = world.new_member()
    return {
        "group_id": member.group,
        "generation_id": member.generation,
        "member_id": member.member_id,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member.member_id, "assignment": b"a"}],
    }


def _heartbeat(world: World) -> Values:
    member = world.new_member()
    return {
        "group_id": member.group,
        "generation_id": member.generation,
        "member_id": member.member_id,
    }


def _leave_group(world: World) -> Values:
    member = world.new_member()
    leaving = {"member_id": member.member_id}
    return {"group_id": member.group, "members": [leaving], **leaving}


def _create_topics(world: World) -> Values:
    settings = [{"name": "retention.ms", "value": "1000"}]
    by_count = {"num_partitions": 1, "replication_factor": 1, "configs": settings}
    by_hand = {
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": [world.broker_id]}],
    }
    topics = [{"name": unique("t"), **by_count}, {"name": unique("t"), **by_hand}]
    return {"topics": topics, "timeout_ms": 5000}


def _delete_topics(world: World) -> Values:
    name = world.new_topic()
    return {"topic_names": [name], "topics": [{"name": name}], "timeout_ms": 5000}


def _delete_records(world: World) -> Values:
    partitions = [{"partition_index": 0, "offset": 1}]
    return {"topics": [{"name": world.new_topic(), "partitions": partitions}], "timeout_ms": 5000}


def _offset_for_leader_epoch(world: World) -> Values:
    asked = {"partition": 0, "current_leader_epoch": 0, "leader_epoch": 0}
    return {"topics": [{"topic": world.topic, "partitions": [asked]}]}


def _configs(world: World, configs: str = "configs", **entry: Any) -> Values:
    of_topic = {"resource_type": 2, "resource_name": world.topic, configs: [entry] if entry else []}
    of_broker = {**of_topic, "resource_type": 4, "resource_name": str(world.broker_id)}
    return {"resources": [of_topic, of_broker]}


def _create_partitions(world: World) -> Values:
    by_hand = [{"broker_ids": [world.broker_id]}]
    topics = [
        {"name": world.new_topic(), "count": 3, "assignments": None},
        {"name": world.new_topic(), "count": 3, "assignments": by_hand},
    ]
    return {"topics": topics, "timeout_ms": 5000}


def _of_partitions(world: World, topics: str, name: str, partitions: str) -> Values:
    return {topics: [{name: world.topic, partitions: [0]}]}


def _offset_delete(world: World) -> Values:
    topic = {"name": world.topic, "partitions": [{"partition_index": 0}]}
    return {"group_id": world.new_member().group, "topics": [topic]}


def _add_partitions_to_txn(world: World) -> Values:
    topics = [{"name": world.topic, "partitions": [0]}]
    producer = {"producer_id": 1, "producer_epoch": 0}
    by_client = {"transactional_id": "t", **producer, "topics": topics}
    by_broker = {"transactional_id": "t", **producer, "verify_only": True, "topics": topics}
    return {
        **{f"v3_and_below_{name}": value for name, value in by_client.items()},
        "transactions": [by_broker],
    }


def _txn_offset_commit(world: World) -> Values:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "m"}
    return {
        **OF_A_TRANSACTION,
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": world.topic, "partitions": [partition]}],
    }


def _write_txn_markers(world: World) -> Values:
    marker = {
        "producer_id": 1,
        "producer_epoch": 0,
        "transaction_result": False,
        "transaction_version": 2,
        "coordinator_epoch": 0,
        **_of_partitions(world, "topics", "name", "partition_indexes"),
    }
    return {"markers": [marker]}


SENSIBLE: dict[ApiKey, Callable[[World], Values]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: lambda world: {"topics": [{"name": world.topic}]},
    ApiKey.LEADER_AND_ISR: _leader_and_isr,
    ApiKey.STOP_REPLICA: _stop_replica,
    ApiKey.CONTROLLED_SHUTDOWN: _controlled_shutdown,
    ApiKey.UPDATE_METADATA: _update_metadata,
    ApiKey.ALTER_PARTITION: _alter_partition,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: lambda world: {"key": "g", "coordinator_keys": ["g"]},
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.HEARTBEAT: _heartbeat,
    ApiKey.LEAVE_GROUP: _leave_group,
    ApiKey.SYNC_GROUP: _sync_group,
    ApiKey.DESCRIBE_GROUPS: lambda world: {"groups": [world.new_member().group]},
    ApiKey.LIST_GROUPS: lambda world: {"states_filter": ["Stable"], "types_filter": ["classic"]},
    ApiKey.SASL_HANDSHAKE: lambda world: {"mechanism": "PLAIN"},
    ApiKey.API_VERSIONS: lambda world: {
        "client_software_name": "c",
        "client_software_version": "1",
    },
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.INIT_PRODUCER_ID: lambda world: {
        "transactional_id": None,
        "transaction_timeout_ms": 1000,
    },
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: lambda world: {**OF_A_TRANSACTION, "group_id": "g"},
    ApiKey.END_TXN: lambda world: {**OF_A_TRANSACTION, "committed": True},
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.DESCRIBE_TRANSACTIONS: lambda world: {"transactional_ids": ["t"]},
    ApiKey.LIST_TRANSACTIONS: lambda world: {
        "state_filters": ["Ongoing"],
        "producer_id_filters": [1],
        "duration_filter": 1,
        "transactional_id_pattern": "t.*",
    },
    ApiKey.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKey.DESCRIBE_CONFIGS: lambda world: _configs(world, "configuration_keys"),
    ApiKey.ALTER_CONFIGS: lambda world: _configs(world, name="max.message.bytes", value="99999"),
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda world: {
        "dirs": [{"path": "/d", **_of_partitions(world, "topics", "name", "partitions")}]
    },
    ApiKey.DESCRIBE_LOG_DIRS: lambda world: _of_partitions(world, "topics", "topic", "partitions"),
    ApiKey.SASL_AUTHENTICATE: lambda world: {"auth_bytes": b"\0a\0b"},
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DELETE_GROUPS: lambda world: {"groups_names": [world.new_member().group]},
    ApiKey.ELECT_LEADERS: lambda world: {
        "timeout_ms": 1000,
        **_of_partitions(world, "topic_partitions", "topic", "partitions"),
    },
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda world: _configs(
        world, name="max.message.bytes", value="99999", config_operation=0
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _list_partition_reassignments,
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.UPDATE_FEATURES: lambda world: {
        "feature_updates": [{"feature": "transaction.version", "max_version_level": 2}]
    },
    ApiKey.DESCRIBE_CLUSTER: lambda world: {},
    ApiKey.DESCRIBE_PRODUCERS: lambda world: _of_partitions(
        world, "topics", "name", "partition_indexes"
    ),
    ApiKey.WRITE_TXN_MARKERS: lambda world: {
        "markers": [
            {
                "producer_id": 1_000,
                "producer_epoch": 0,
                "coordinator_epoch": 0,
                "transaction_result": True,
                "topics": [{"name": world.topic, "partition_indexes": [0]}],
            }
        ]
    },
    ApiKey.ALLOCATE_PRODUCER_IDS: _allocate_producer_ids,
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda world: {"group_ids": ["g"]},
    ApiKey.LIST_CONFIG_RESOURCES: lambda world: {"resource_types": [2]},
    ApiKey.DESCRIBE_ACLS: lambda world: {
        "resource_type_filter": 2,
        "resource_name_filter": world.topic,
        "principal_filter": "User:a",
        "host_filter": "*",
        "operation": 3,
        "permission_type": 3,
    },
    ApiKey.CREATE_ACLS: lambda world: {
        "creations": [
            {
                "resource_type": 2,
                "resource_name": world.topic,
                "principal": "User:a",
                "host": "*",
                "operation": 3,
                "permission_type": 3,
            }
        ]
    },
    ApiKey.DELETE_ACLS: lambda world: {
        "filters": [
            {
                "resource_type_filter": 2,
                "resource_name_filter": world.topic,
                "principal_filter": "User:a",
                "host_filter": "*",
                "operation": 3,
                "permission_type": 3,
            }
        ]
    },
    ApiKey.CREATE_DELEGATION_TOKEN: lambda world: {
        "owner_principal_type": "User",
        "owner_principal_name": "a",
        "renewers": [{"principal_type": "User", "principal_name": "b"}],
        "max_lifetime_ms": 1000,
    },
    ApiKey.RENEW_DELEGATION_TOKEN: lambda world: {"hmac": b"h", "renew_period_ms": 1000},
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda world: {"hmac": b"h", "expiry_time_period_ms": 1000},
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda world: {
        "owners": [{"principal_type": "User", "principal_name": "a"}]
    },
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda world: {
        "components": [{"entity_type": "user", "match_type": 0, "match": "a"}],
        "strict": False,
    },
    ApiKey.ALTER_CLIENT_QUOTAS: lambda world: {
        "entries": [
            {
                "entity": [{"entity_type": "user", "entity_name": "a"}],
                "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}],
            }
        ],
        "validate_only": False,
    },
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda world: {"users": [{"name": "a"}]},
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda world: {
        "deletions": [{"name": "a", "mechanism": 1}],
        "upsertions": [
            {
                "name": "b",
                "mechanism": 1,
                "iterations": 4096,
                "salt": b"s",
                "salted_password": b"p",
            }
        ],
    },
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda world: {
        "topics": [{"name": world.topic}],
        "response_partition_limit": 5,
        "cursor": {"topic_name": world.topic, "partition_index": 0},
    },
}


def request_of(world: World, key: ApiKey, version: int) -> Message:
    """The sensible request of an API at a version."""
    made: Message = made_of(request_class(key), SENSIBLE[key](world), version)
    return made


def made_of(cls: Any, values: Values, version: int) -> Any:
    """A struct of these values, without those that the version has no field for."""
    fields = {each.name: each for each in cls.FIELDS}
    assert not values.keys() - fields, cls
    return cls(
        **{
            name: _value(fields[name].kind, value, version)
            for name, value in values.items()
            if fields[name].exists_at(version)
        }
    )


def _value(kind: Any, value: Any, version: int) -> Any:
    if isinstance(value, dict):
        return made_of(kind.cls, value, version)
    if isinstance(value, list) and isinstance(kind, Array):
        return [_value(kind.element, each, version) for each in value]
    return value


class Place(NamedTuple):
    """A field, or an array's element, somewhere inside a request."""

    path: str
    holder: Any
    key: str | int
    kind: Any

    def set(self, value: object) -> None:
        """Put another value there."""
        if isinstance(self.key, int):
            self.holder[self.key] = value
        else:
            setattr(self.holder, self.key, value)


def numbers_in(request: Struct, version: int) -> Iterator[Place]:
    """Every signed number of the request at the version."""
    for place in _places(request, version):
        if isinstance(place.kind, Fixed) and place.kind.char in BITS:
            yield place


def texts_in(request: Struct, version: int) -> Iterator[Place]:
    """Every text of the request at the version."""
    return (each for each in _places(request, version) if isinstance(each.kind, StringCodec))


def _places(struct: Any, version: int, path: str = "") -> Iterator[Place]:
    for each in struct.FIELDS:
        if each.exists_at(version):
            yield from _inside(
                Place(f"{path}{each.name}", struct, each.name, each.kind),
                getattr(struct, each.name),
                version,
            )


def _inside(place: Place, value: Any, version: int) -> Iterator[Place]:
    if isinstance(place.kind, StructKind):
        if value is not None:
            yield from _places(value, version, f"{place.path}.")
    elif isinstance(place.kind, Array):
        for index, element in enumerate(value or ()):
            inner = Place(f"{place.path}[{index}]", value, index, place.kind.element)
            yield from _inside(inner, element, version)
    else:
        yield place


def extremes_of(place: Place) -> list[int]:
    """The least and the largest number of the field, and those around nothing."""
    most = 1 << BITS[place.kind.char] - 1
    return [-most, -1, 0, most - 1]
