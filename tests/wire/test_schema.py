"""Declarations: constructors, defaults, equality, versions, reprs without secrets."""

from __future__ import annotations

import pytest

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.errors import UnsupportedVersion
from barnabas.wire.messages.alter_user_scram_credentials import ScramCredentialUpsertion
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenResponse
from barnabas.wire.messages.fetch import FetchRequest, PartitionData
from barnabas.wire.messages.group_metadata_key import GroupMetadataKey
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from barnabas.wire.primitives import UUID, Boolean, Float64, Int16, Int32
from barnabas.wire.schema import Message, Struct, covers, field, message, struct
from barnabas.wire.strings import Bytes, Records, RecordsView, String
from barnabas.wire.uuids import ZERO_UUID, Uuid
from tests.wire.strategies import declared


@struct
class Inner(Struct):
    number: int = field(Int16, default=3)


@message(ApiKey.PRODUCE, versions=(2, 4), flexible=4)
class Sample(Message):
    """One field of each kind."""

    flag: bool = field(Boolean)
    number: int = field(Int32)
    ratio: float = field(Float64)
    text: str = field(String)
    data: bytes = field(Bytes)
    id: Uuid = field(UUID)
    records: RecordsView | None = field(Records, nullable=2)
    inner: Inner = field(Inner)
    many: list[int] = field(Array(Int32), default_factory=list)
    password: str = field(String, secret=True, default="")


def sample() -> Sample:
    return Sample.at(2).parse(bytes(100))


def test_defaults_are_kafkas_zero_values() -> None:
    made = Sample.__call__()  # without what a type checker asks for
    assert (made.flag, made.number, made.ratio, made.text, made.data) == (False, 0, 0.0, "", b"")
    assert made.id == ZERO_UUID
    assert made.records is None
    assert made.inner == Inner(number=3)
    assert made.many == []


def test_mutable_defaults_are_not_shared() -> None:
    one, other = (FetchRequest(max_wait_ms=0, min_bytes=0) for _ in range(2))
    assert one.topics is not other.topics
    assert Sample.__call__().inner is not Sample.__call__().inner
    parsed = FetchRequest.at(4).parse(FetchRequest.at(4).build(one))
    again = FetchRequest.at(4).parse(FetchRequest.at(4).build(one))
    assert parsed.forgotten_topics_data is not again.forgotten_topics_data


def test_a_class_has_slots_and_no_dictionary() -> None:
    with pytest.raises(AttributeError):
        ProduceRequest(acks=1, timeout_ms=1).acs = 1  # type: ignore[attr-defined]  # the point
    assert not hasattr(ProduceRequest(acks=1, timeout_ms=1), "__dict__")


def test_equality_is_by_fields_and_unknown_tags() -> None:
    assert Inner(number=1) == Inner(number=1)
    assert Inner(number=1) != Inner(number=2)
    tagged = Inner(number=1)
    tagged.unknown_tagged_fields = ((9, b""),)
    assert tagged != Inner(number=1)
    assert Inner(number=1) != 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Inner(number=1))


def test_a_declaration_knows_its_versions() -> None:
    assert Sample.VERSIONS == (2, 3, 4)
    assert [Sample.at(version).flexible for version in Sample.VERSIONS] == [False, False, True]
    assert Sample.at(3) is Sample.at(3)
    for version in (1, 5, -1):
        with pytest.raises(UnsupportedVersion, match=f"versions 2 to 4, not {version}"):
            Sample.at(version)


def test_a_key_that_was_once_told_apart_by_its_version_has_both() -> None:
    assert GroupMetadataKey.RECORD_TYPE == 2
    assert GroupMetadataKey.VERSIONS == (0, 2)


def test_spans() -> None:
    assert [version for version in range(6) if covers((2, 4), version)] == [2, 3, 4]
    assert [version for version in range(6) if covers(3, version)] == [3, 4, 5]
    assert not covers(None, 0)
    assert not covers(False, 0)


def test_a_repr_names_fields_and_unknown_tags() -> None:
    inner = Inner(number=1)
    assert repr(inner) == "Inner(number=1)"
    inner.unknown_tagged_fields = ((9, b"x"),)
    assert repr(inner) == "Inner(number=1, unknown_tagged_fields=((9, b'x'),))"
    assert "partition_index=7" in repr(
        PartitionData(partition_index=7, high_watermark=0, records=None)
    )


def test_a_secret_never_shows() -> None:
    secret = b"hunter2-hunter2"
    upsertion = ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=secret, salted_password=secret
    )
    token = CreateDelegationTokenResponse.__call__()
    token.hmac = secret
    for holder in (
        SaslAuthenticateRequest(auth_bytes=secret),
        SaslAuthenticateResponse(auth_bytes=secret),
        upsertion,
        token,
    ):
        assert "hunter2" not in repr(holder)
        assert "<redacted, 15 bytes>" in repr(holder)


def test_every_field_that_is_named_like_a_secret_is_one() -> None:
    """Kafka's generated classes print these; ours must not."""
    words = ("password", "salt", "hmac", "auth_bytes", "secret")
    open_ = [
        f"{cls.__name__}.{each.name}"
        for name in declared()
        for cls in structs_of(declared()[name])
        for each in cls.FIELDS
        if any(word in each.name for word in words) and not each.secret
    ]
    assert open_ == []


def structs_of(cls: type[Struct]) -> list[type[Struct]]:
    """The class and every struct inside it."""
    found = [cls]
    for each in cls.FIELDS:
        inner = each.kind.element if isinstance(each.kind, Array) else each.kind
        if hasattr(inner, "cls"):
            found += structs_of(inner.cls)
    return found
