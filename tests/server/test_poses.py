"""A broker that looks like another release serves and advertises what that one does."""

from barnabas.server.handlers import HANDLERS, Versions
from barnabas.server.poses import POSES, served_versions
from barnabas.server.settings.checks import KNOWN_RELEASES
from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce, produce_request


def test_without_a_pose_everything_is_served_and_advertised() -> None:
    served, advertised = served_versions(HANDLERS, "")
    assert served == advertised == HANDLERS


def test_a_pose_narrows_and_never_widens() -> None:
    handlers = {ApiKey.FETCH: Versions(2, 18), ApiKey.METADATA: Versions(0, 3)}
    assert served_versions(handlers, "4.4")[0] == {
        ApiKey.FETCH: Versions(4, 18),
        ApiKey.METADATA: Versions(0, 3),
    }
    assert served_versions(handlers, "2.8")[0][ApiKey.FETCH] == Versions(2, 12)


def test_an_api_the_release_lacks_is_gone() -> None:
    handlers = {ApiKey.DESCRIBE_TOPIC_PARTITIONS: Versions(0, 0)}
    assert served_versions(handlers, "2.8") == ({}, {})


def test_4_x_advertises_produce_0_and_refuses_it() -> None:
    with Broker(pose_as="4.4") as broker:
        topic = broker.create_topic("t")
        with RawClient(broker.port) as client:
            answer = client.call(ApiVersionsRequest(), 0)
            ranges = {each.api_key: each.min_version for each in answer.api_keys}
            assert ranges[ApiKey.PRODUCE] == 0
            client.send(produce_request(topic, make_batch(b"x")), 2)
            assert client.is_closed()
        with RawClient(broker.port) as client:
            assert produce(client, topic, make_batch(b"x"), version=3).error_code == 0


def test_releases_between_look_like_the_older() -> None:
    assert served_versions(HANDLERS, "3.2") == served_versions(HANDLERS, "2.8")
    assert served_versions(HANDLERS, "4.1") == served_versions(HANDLERS, "3.9")
    assert served_versions(HANDLERS, "1.0") == served_versions(HANDLERS, "2.8")


def test_every_range_is_one_the_messages_have() -> None:
    for ranges in POSES.values():
        for key, (first, last) in ranges.items():
            assert {first, last} <= set(request_class(key).VERSIONS)


def test_settings_name_the_releases_that_are_known() -> None:
    assert tuple(POSES) == KNOWN_RELEASES
