"""What the records of Kafka's own topics say: groups, offsets, transactions, share groups.

A key begins with an int16 that names its kind, a value with an int16 that is its schema's
version. Which kinds there are: `RECORDS`, from the keys of `wire.messages`.
"""

from base64 import b64encode
from importlib import import_module
from struct import Struct, error
from typing import Any

from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from barnabas.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from barnabas.wire.schema import Message
from barnabas.wire.schema import Struct as WireStruct
from barnabas.wire.structs import StructCodec
from barnabas.wire.uuids import Uuid

# topic -> kind of key -> stem of the two message modules; 0 and 1 share a schema
RECORDS: dict[str, dict[int, str]] = {
    "__consumer_offsets": {
        0: "offset_commit",
        1: "offset_commit",
        2: "group_metadata",
        3: "consumer_group_metadata",
        4: "consumer_group_partition_metadata",
        5: "consumer_group_member_metadata",
        6: "consumer_group_target_assignment_metadata",
        7: "consumer_group_target_assignment_member",
        8: "consumer_group_current_member_assignment",
        10: "share_group_member_metadata",
        11: "share_group_metadata",
        12: "share_group_target_assignment_metadata",
        13: "share_group_target_assignment_member",
        14: "share_group_current_member_assignment",
        15: "share_group_state_partition_metadata",
        16: "consumer_group_regular_expression",
        17: "streams_group_metadata",
        19: "streams_group_member_metadata",
        20: "streams_group_target_assignment_metadata",
        21: "streams_group_target_assignment_member",
        22: "streams_group_current_member_assignment",
        23: "streams_group_topology",
    },
    "__transaction_state": {0: "transaction_log"},
    "__share_group_state": {0: "share_snapshot", 1: "share_update"},
}
TRANSACTION_STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
    "Dead", "PrepareEpochFence",
)  # fmt: skip
_INT16 = Struct(">h")
_CONSUMER_PROTOCOL: dict[str, type[Message]] = {
    "subscription": ConsumerProtocolSubscription,
    "assignment": ConsumerProtocolAssignment,
}


def decode_record(
    topic: str, key: bytes | None, value: bytes | None
) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """Key and value of a record as plain values; None where they are not what they should be.

    The key: `type`, `name` and `data`; the value: `version` and `data`, None for a tombstone.
    """
    try:
        (kind,) = _INT16.unpack_from(key or b"")
        name = RECORDS[topic][kind]
        shown_key = _decode(_message(f"{name}_key"), 0, key or b"")
        shown_value = None
        if value is not None:
            (version,) = _INT16.unpack_from(value)
            shown_value = {
                "version": version,
                "data": _decode(_message(f"{name}_value"), version, value),
            }
    except (LookupError, error, ProtocolError):
        return None
    return {"type": kind, "name": name, "data": shown_key}, _enriched(name, shown_value)


def _message(stem: str) -> type[Message]:
    module = import_module(f"barnabas.wire.messages.{stem}")
    message: type[Message] = getattr(module, "".join(word.capitalize() for word in stem.split("_")))
    return message


def _decode(message: type[Message], version: int, data: bytes) -> dict[str, Any]:
    bound = message.at(version)
    return plain(bound.reference, bound.parse(data, _INT16.size))


def _enriched(name: str, value: dict[str, Any] | None) -> dict[str, Any] | None:
    """Bytes and numbers that mean something to a reader, spelled out."""
    if value is None:
        return None
    data = value["data"]
    if name == "transaction_log" and 0 <= data["transaction_status"] < len(TRANSACTION_STATES):
        data["transaction_state"] = TRANSACTION_STATES[data["transaction_status"]]
    return value


def plain(codec: StructCodec, value: WireStruct) -> dict[str, Any]:
    """A message as JSON can hold it: the fields its version has, set tagged fields."""
    out = {}
    is_consumers = getattr(value, "protocol_type", None) == "consumer"
    for field, member in codec.present:
        out[field.name] = _plain(member, getattr(value, field.name))
    for field, member in codec.tagged:
        content = getattr(value, field.name)
        if field.is_set(content):
            out[field.name] = _plain(member, content)
    if is_consumers:
        for shown, member in zip(
            out.get("members", []), getattr(value, "members", []), strict=True
        ):
            shown |= _consumer_protocol(member)
    return out


def _plain(codec: Codec, value: Any) -> Any:
    if isinstance(value, WireStruct) and isinstance(codec, StructCodec):
        return plain(codec, value)
    if isinstance(value, list) and isinstance(codec, Array):
        return [_plain(codec.element, each) for each in value]
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return b64encode(value).decode()
    return value


def _consumer_protocol(member: object) -> dict[str, Any]:
    """A classic member's subscription and assignment, where they are the consumers' own."""
    out = {}
    for name, message in _CONSUMER_PROTOCOL.items():
        data = bytes(getattr(member, name))
        try:
            version = min(_INT16.unpack_from(data)[0], message.VERSIONS[-1])
            out[name] = _decode(message, version, data)
        except (error, ProtocolError):
            continue
    return out
