"""OffsetCommit over the wire; the case file's G8."""

import time
from typing import Any

import pytest

from barnabas.server.groups.commits import Committer
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.errors import Malformed
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.uuids import Uuid
from tests.server.admin import create, new_topic
from tests.server.group_requests import Member, commit, commit_request, fetch_request, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.waiting import PATIENCE_S


@pytest.fixture
def topic(client: RawClient) -> str:
    name = unique("orders")
    create(client, new_topic(name, 2))
    return name


@pytest.mark.parametrize("version", range(10))
def test_every_version_commits(client: RawClient, topic: str, version: int) -> None:
    group = unique("all")
    assert commit(client, group, topic, 5, 6, version=version, text="m") == [0, 0]
    read_from = 0 if version == 0 else 1
    assert offsets(client, group, topic, 0, 1, version=read_from) == {
        (topic, 0): (5, "m" if version else "", 0),
        (topic, 1): (6, "m" if version else "", 0),
    }


def test_version_0_keeps_its_offsets_in_the_registry(client: RawClient, topic: str) -> None:
    group = unique("old")
    commit(client, group, topic, 5, version=0)
    assert offsets(client, group, topic, 0, version=1)[topic, 0][0] == -1
    commit(client, group, topic, 7, version=1)
    assert offsets(client, group, topic, 0, version=0)[topic, 0][0] == 5


def test_version_10_names_topics_by_id(client: RawClient) -> None:
    group, name = unique("ids"), unique("identified")
    (made,) = create(client, new_topic(name))
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=5, committed_metadata=""
    )
    request = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(topic_id=topic_id, partitions=[partition])
            for topic_id in (made.topic_id, Uuid(b"?" * 16))
        ],
    )
    known, unknown = client.call(request, 10).topics
    assert known.topic_id == made.topic_id
    assert known.partitions[0].error_code == 0
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert offsets(client, group, name, 0)[name, 0][0] == 5


def test_no_metadata_is_an_empty_text(client: RawClient, topic: str) -> None:
    group = unique("g8")
    assert commit(client, group, topic, 5, text=None) == [0]
    assert offsets(client, group, topic, 0)[topic, 0] == (5, "", 0)


def test_what_is_unknown_or_too_long_is_refused_alone(client: RawClient, topic: str) -> None:
    group = unique("alone")
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert commit(client, group, topic, 5, 6, 7) == [0, 0, unknown]
    assert commit(client, group, unique("nowhere"), 5) == [unknown]
    request = commit_request(group, topic, 8, 9)
    request.topics[0].partitions[0].committed_metadata = "x" * 4097
    request.topics[0].partitions[1].committed_metadata = "x" * 4096
    answered = client.call(request, 8).topics[0].partitions
    assert [p.error_code for p in answered] == [ErrorCode.OFFSET_METADATA_TOO_LARGE, 0]
    found = offsets(client, group, topic, 0, 1)
    assert (found[topic, 0][0], found[topic, 1][0]) == (5, 9)


def test_the_length_of_metadata_is_that_of_a_java_string(client: RawClient, topic: str) -> None:
    group = unique("long")
    for text, code in (
        ("\u00e9" * 4096, 0),
        ("\U0001f600" * 2048, 0),
        ("\U0001f600" * 2048 + "x", int(ErrorCode.OFFSET_METADATA_TOO_LARGE)),
    ):
        request = commit_request(group, topic, 8)
        request.topics[0].partitions[0].committed_metadata = text
        (answered,) = client.call(request, 8).topics[0].partitions
        assert answered.error_code == code


def test_a_group_with_members_takes_only_theirs(
    broker: Broker, client: RawClient, topic: str
) -> None:
    with Member(broker, unique("live")) as member:
        member.settle()
        who: dict[str, Any] = {
            "generation_id_or_member_epoch": member.generation,
            "member_id": member.member_id,
        }
        assert commit(client, member.group, topic, 1) == [ErrorCode.UNKNOWN_MEMBER_ID]
        assert commit(client, member.group, topic, 1, **who) == [0]
        who["generation_id_or_member_epoch"] += 1
        assert commit(client, member.group, topic, 1, **who) == [ErrorCode.ILLEGAL_GENERATION]


def test_how_long_to_keep_an_offset(topic: str) -> None:
    """Versions 2 to 4 say so themselves; otherwise the broker's week counts."""
    with Broker() as broker:
        with RawClient(broker.port) as client:
            create(client, new_topic(topic, 2))
            commit(client, "kept", topic, 1, 2, version=1)
            commit(client, "brief", topic, 1, version=4, retention_time_ms=3_600_000)
        broker.clock.advance("2 h")
        with RawClient(broker.port) as client:
            assert offsets(client, "brief", topic, 0)[topic, 0][0] == -1
            assert offsets(client, "kept", topic, 1)[topic, 1][0] == 2
        broker.clock.advance("7 days")
        with RawClient(broker.port) as client:
            assert offsets(client, "kept", topic, 1)[topic, 1][0] == -1


def test_offsets_survive_a_restart(tmp_path: Any) -> None:
    with Broker(data_dir=tmp_path) as broker, RawClient(broker.port) as client:
        create(client, new_topic("orders"))
        assert commit(client, "g", "orders", 5, epoch=3, text="m") == [0]
    with Broker(data_dir=tmp_path) as broker, RawClient(broker.port) as client:
        deadline = time.monotonic() + PATIENCE_S
        while (found := offsets(client, "g", "orders", 0, version=5)) == {}:
            assert time.monotonic() < deadline, "the groups are still being loaded"
        assert found == {("orders", 0): (5, "m", 0)}


@pytest.mark.parametrize("version", [2, 3, 4])
def test_offsets_may_be_kept_to_the_end_of_time(
    broker: Broker, client: RawClient, topic: str, version: int
) -> None:
    group = unique("forever")
    request = commit_request(group, topic, 5)
    request.retention_time_ms = (1 << 63) - 1
    for offset in (5, 6):
        request.topics[0].partitions[0].committed_offset = offset
        (answer,) = client.call(request, version).topics[0].partitions
        assert answer.error_code == 0
    stable = fetch_request(group, 7, topic, 0)
    stable.require_stable = True
    (found,) = client.call(stable, 7).topics[0].partitions
    assert (found.committed_offset, found.error_code) == (6, 0)
    broker.clock.advance("30 days")
    with RawClient(broker.port) as later:
        assert offsets(later, group, topic, 0, version=1)[topic, 0][0] == 6


def test_a_commit_that_cannot_be_written_is_not_on_its_way(
    broker: Broker, client: RawClient, topic: str
) -> None:
    group = unique("broken")
    wrong = {(topic, 0): CommittedOffset(1 << 63)}
    with pytest.raises(Malformed):
        broker.call(lambda: broker.server.groups.commit(group, Committer(), wrong, lambda _: None))
    stable = fetch_request(group, 7, topic, 0)
    stable.require_stable = True
    (found,) = client.call(stable, 7).topics[0].partitions
    assert (found.committed_offset, found.error_code) == (-1, 0)


@pytest.mark.parametrize("group", ["", ".", "..", "a//b", "a\0b"])
def test_version_0_has_no_place_for_a_group_of_such_a_name(
    client: RawClient, topic: str, group: str
) -> None:
    code = int(ErrorCode.INVALID_GROUP_ID)
    assert commit(client, group, topic, 5, 6, version=0) == [code, code]
    assert offsets(client, group, topic, 0, version=0) == {(topic, 0): (-1, "", code)}
    assert commit(client, "good", topic, 5, version=0) == [0]
