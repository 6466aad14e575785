"""What of an answer must be as Kafka's: everything but what no two brokers have in common.

A shape is a flat table from a place in the message, such as
`topics[w1].partitions[0].error_code`, to a value. Elements of arrays are known by their names
or numbers, not by their order, which in Kafka is often that of a hash table.
"""

from typing import Any

from barnabas.wire.schema import Message, Struct

Shape = dict[str, object]

# Left out: they are the broker's, the client's or the moment's own.
_OWN = frozenset(
    (
        "client_host",
        "cluster_id",
        "documentation",
        "host",
        "last_timestamp",
        "log_dir",
        "partition_size",
        "port",
        "producer_id",
        "push_interval_ms",
        "throttle_time_ms",
        "total_bytes",
        "usable_bytes",
    )
)
# There must be one or none, as in Kafka's answer; which one is its own business.
_PRESENCE = frozenset(
    ("error_message", "leader", "member_id", "metadata", "records", "session_id", "topic_id")
)
_NAMES = (
    "name", "topic", "topic_name", "resource_name", "group_id", "group", "key", "api_key",
    "partition_index", "partition", "index", "partition_id", "node_id", "broker_id",
)  # fmt: skip


def shape_of(message: Message) -> Shape:
    """The table of an answer."""
    shape: Shape = {}
    _add(message, "", shape)
    return shape


def _add(value: Any, place: str, shape: Shape) -> None:
    if isinstance(value, (Message, Struct)):
        for field in value.FIELDS:
            if field.name not in _OWN:
                _add_field(getattr(value, field.name), field.name, place, shape)
    elif isinstance(value, list) and value and isinstance(value[0], Struct):
        for number, element in enumerate(value):
            _add(element, f"{place}[{_name_of(element, number)}]", shape)
    else:
        shape[place] = _plain(value)


def _add_field(value: Any, name: str, place: str, shape: Shape) -> None:
    place = f"{place}.{name}".lstrip(".")
    if name in _PRESENCE:
        shape[place] = bool(value) and any(bytes(value)) if name == "topic_id" else bool(value)
    else:
        _add(value, place, shape)


def _name_of(element: Any, number: int) -> object:
    for name in _NAMES:
        found = getattr(element, name, None)
        if found not in (None, ""):
            return found
    return number


def _plain(value: Any) -> object:
    if isinstance(value, memoryview):
        return bytes(value)
    return sorted(value) if isinstance(value, list) else value
