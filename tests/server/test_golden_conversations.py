"""Every golden request of an API that is served gets the answer that Kafka gave.

The broker is put into the state that Kafka's answer tells of (`golden_world`), asked the same
request, and the answers' shapes (`golden_shape`) are compared. `golden_differences` is all in
which they may differ. Where Kafka 4.3.1 closed the connection on an old version, a broker that
looks like it does the same.
"""

from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey
from barnabas.wire.schema import Message
from tests.server.golden_differences import DIFFERENCES, UNREPEATABLE, Difference
from tests.server.golden_frames import FRAMES, Frame, served_frames
from tests.server.golden_shape import Shape, shape_of
from tests.server.golden_world import BROKER_ID, World, prepare
from tests.server.raw_client import RawClient

POSES = {"3.9.1": "3.9", "4.3.1": "4.4"}
# What the golden brokers had in their files.
SETTINGS = {"broker.id": BROKER_ID, "log.retention.ms": -1, "log.index.size.max.bytes": 65536}
# What a controller says puts the broker's own out of office: asked in replication/test_control,
# and held against what Kafka's controller said in controller/test_control_messages.
# A broker that says that it stops leads no more: controller/test_controlled_shutdown. What leaders
# want of a controller is of partitions that are not here.
CONTROL = {
    ApiKey.ALTER_PARTITION, ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA,
    ApiKey.ALLOCATE_PRODUCER_IDS, ApiKey.CONTROLLED_SHUTDOWN,
}  # fmt: skip
FRAMES_TO_ASK = [
    frame
    for frame in served_frames()
    if frame.line not in UNREPEATABLE and frame.key not in CONTROL
]

asked: set[int] = set()
seen: set[Difference] = set()

pytestmark = pytest.mark.skipif(not FRAMES.exists(), reason=f"{FRAMES} is not there")


@pytest.fixture(scope="module")
def brokers() -> Iterator[dict[str, Broker]]:
    made = {release: Broker(SETTINGS, pose_as=pose) for release, pose in POSES.items()}
    for each in made.values():
        each.start()
    yield made
    for each in made.values():
        each.stop()


@pytest.fixture
def broker(brokers: dict[str, Broker], frame: Frame) -> Iterator[Broker]:
    """The broker that looks like the one which answered; empty again afterwards."""
    yield brokers[frame.release]
    brokers[frame.release].clear()


@pytest.mark.parametrize("frame", FRAMES_TO_ASK, ids=lambda frame: frame.name)
def test_golden_request(broker: Broker, frame: Frame) -> None:
    expected = frame.answer()
    answer = ask(broker, frame)
    if expected is None or answer is None:
        assert answer is expected
        return
    asked.add(frame.line)
    differing = compared(frame, answer, expected)
    for place in list(differing):
        covering = [each for each in DIFFERENCES if each.covers(frame, place)]
        seen.update(covering)
        if covering:
            del differing[place]
    assert not differing


def test_every_difference_has_been_seen(brokers: dict[str, Broker]) -> None:
    for frame in FRAMES_TO_ASK:  # those that were asked in other processes
        if frame.line not in asked and frame.response is not None:
            test_golden_request(brokers[frame.release], frame)
            brokers[frame.release].clear()
    assert [each for each in DIFFERENCES if each not in seen] == []


def ask(broker: Broker, frame: Frame) -> Message | None:
    """Our answer to the request in the state of Kafka's; None if the connection is closed."""
    request = frame.message()
    with RawClient(broker.port, "__admin_client") as client:
        world = World(broker, client)
        prepare(world, frame, request)
        client.send(request, frame.version)
        if frame.response is None:
            assert client.is_closed()
            return None
        answer: Message = client.receive()
        world.close()
        return answer


def compared(frame: Frame, answer: Message, expected: Message) -> dict[str, tuple[object, object]]:
    """Where the answers differ: (ours, Kafka's) by place."""
    ours, theirs = shape_of(answer), shape_of(expected)
    if frame.key is ApiKey.API_VERSIONS:
        ours, theirs = _common(ours, theirs), _common(theirs, ours)
    nothing = "nothing"
    return {
        place: (ours.get(place, nothing), theirs.get(place, nothing))
        for place in {**theirs, **ours}
        if ours.get(place, nothing) != theirs.get(place, nothing)
    }


def _common(shape: Shape, other: Shape) -> Shape:
    """What is told of the APIs that both serve; `docs/compatibility.md` has the others."""
    return {k: v for k, v in shape.items() if not k.startswith("api_keys[") or k in other}
