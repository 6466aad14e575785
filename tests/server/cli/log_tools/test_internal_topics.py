"""Records of internal topics that the golden files do not hold, and what is no such record."""

from importlib import import_module

import pytest

from barnabas.server.cli.log_tools.internal_topics import RECORDS, decode_record
from barnabas.wire.messages.share_snapshot_key import ShareSnapshotKey
from barnabas.wire.messages.share_snapshot_value import ShareSnapshotValue
from barnabas.wire.uuids import Uuid

STEMS = [
    (topic, kind, stem)
    for topic, kinds in RECORDS.items()
    for kind, stem in kinds.items()
    if (topic, kind) != ("__consumer_offsets", 0)
]


@pytest.mark.parametrize(("topic", "kind", "stem"), STEMS)
def test_every_kind_is_the_schemas_own(topic: str, kind: int, stem: str) -> None:
    name = "".join(word.capitalize() for word in stem.split("_"))
    key = getattr(import_module(f"barnabas.wire.messages.{stem}_key"), f"{name}Key")
    value = getattr(import_module(f"barnabas.wire.messages.{stem}_value"), f"{name}Value")
    assert key.RECORD_TYPE == kind
    version = value.VERSIONS[-1]
    decoded = decode_record(
        topic,
        kind.to_bytes(2) + key.at(0).build(key()),
        version.to_bytes(2) + value.at(version).build(value()),
    )
    assert decoded is not None
    assert (decoded[0]["type"], decoded[0]["name"]) == (kind, stem)
    assert decoded[1] is not None
    assert decoded[1]["version"] == version


def test_a_share_groups_state() -> None:
    topic_id = Uuid(range(16))
    key = ShareSnapshotKey(group_id="g", topic_id=topic_id, partition=3)
    value = ShareSnapshotValue(snapshot_epoch=4, state_epoch=1, leader_epoch=2, start_offset=9)
    version = ShareSnapshotValue.VERSIONS[-1]
    decoded = decode_record(
        "__share_group_state",
        b"\0\0" + ShareSnapshotKey.at(0).build(key),
        version.to_bytes(2) + ShareSnapshotValue.at(version).build(value),
    )
    assert decoded is not None
    assert decoded[0]["data"] == {"group_id": "g", "topic_id": str(topic_id), "partition": 3}
    assert decoded[1] is not None
    assert decoded[1]["data"]["start_offset"] == 9


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b""),
        (b"\0", b""),
        (b"\0\x63xx", b""),
        (b"\0\1\0\x09cut", b""),
        (b"\0\2\0\1g", b"\0"),
        (b"\0\2\0\1g", b"\0\x70"),
        (b"\0\2\0\1g", b"\0\3\0\x55"),
    ],
)
def test_anything_else_is_left_as_bytes(key: bytes | None, value: bytes | None) -> None:
    assert decode_record("__consumer_offsets", key, value) is None


def test_a_tombstone() -> None:
    decoded = decode_record("__transaction_state", b"\0\0\0\1t", None)
    assert decoded == (
        {"type": 0, "name": "transaction_log", "data": {"transactional_id": "t"}},
        None,
    )
