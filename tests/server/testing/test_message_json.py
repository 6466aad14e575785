"""Messages as JSON and back, every one of them."""

import json

import pytest

from barnabas.server.testing.message_json import from_json, to_json
from barnabas.server.testing.seen import without_records
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.wire.schema import Message, Struct
from barnabas.wire.uuids import Uuid
from tests.wire.strategies import declared, value

SEEDS = 4


def _stripped(struct: Struct) -> Struct:
    """Without what does not travel: secrets, unknown tags, records."""
    struct.unknown_tagged_fields = ()
    for field in struct.FIELDS:
        member = getattr(struct, field.name)
        if field.secret:
            setattr(struct, field.name, field.fresh_default())
        elif isinstance(member, list):
            for each in member:
                if isinstance(each, Struct):
                    _stripped(each)
        elif isinstance(member, Struct):
            _stripped(member)
    return struct


@pytest.mark.parametrize("name", sorted(declared()))
def test_what_is_read_back_is_what_was_written(name: str) -> None:
    cls = declared()[name]
    for seed in range(SEEDS):
        made: Message = value(name, cls.VERSIONS[-1], seed)
        message = without_records(made)
        text = json.dumps(to_json(message), allow_nan=True)
        assert from_json(cls, json.loads(text)) == _stripped(message)


def test_bytes_are_base64_and_ids_are_kafkas_text() -> None:
    assignment = SyncGroupRequestAssignment(member_id="m", assignment=b"\x00\xff")
    sync = to_json(SyncGroupRequest(group_id="g", assignments=[assignment]))
    assert sync["assignments"] == [{"member_id": "m", "assignment": "AP8="}]
    topic_id = Uuid(range(16))
    fetched = to_json(FetchResponse(responses=[FetchableTopicResponse(topic_id=topic_id)]))
    assert json.loads(json.dumps(fetched))["responses"][0]["topic_id"] == str(topic_id)


def test_records_and_secrets_are_null() -> None:
    partition = PartitionData(partition_index=1, records=b"secret")
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    assert '"records": null' in json.dumps(to_json(response))
    login = to_json(SaslAuthenticateRequest(auth_bytes=b"\0user\0password"))
    assert login == {"auth_bytes": None}
