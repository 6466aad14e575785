"""Changes of in-sync sets on their way: one request at a time, repeated until decided."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping, Sequence

from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import Unanswered
from barnabas.server.observing.logs import Logs
from barnabas.server.peers.link import Unsupported
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.notices import decode_partitions
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.replication.alter_partition import (
    AGAIN_MS,
    Agreed,
    Decided,
    IsrChanges,
    Key,
)
from barnabas.server.replication.isr_deciders import ControllerDecides, LeaderDecides
from barnabas.server.replication.isr_states import IsrChange
from barnabas.wire.connection import ClientConnection
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionDataResponse,
    TopicDataResponse,
)
from barnabas.wire.uuids import ZERO_UUID, Uuid
from tests.server.registry.test_topics import THREE, ruling, states

PASSES = 20
TOPIC_ID = Uuid(b"t" * 16)


class Partition:
    """A partition that wants changes, and what it has been told."""

    def __init__(self, key: Key) -> None:
        self.topic, self.index = self.key = key
        self.isr: Sequence[int] = (1,)
        self.partition_epoch = 5
        self.pending: IsrChange | None = None
        self.heard: list[object] = []
        self.repeats: set[ErrorCode] = {ErrorCode.NOT_CONTROLLER}

    def wants(self, *isr: int, topic_id: Uuid = TOPIC_ID) -> IsrChange:
        self.pending = IsrChange(
            self.key, topic_id, isr, [-1, *(70 + each for each in isr[1:])],
            leader_epoch=3, partition_epoch=self.partition_epoch, controller_epoch=2,
        )  # fmt: skip
        return self.pending

    def waits_for(self, change: IsrChange) -> bool:
        return self.pending is change

    def isr_agreed(self, change: IsrChange, *agreed: object) -> bool:
        self.heard.append(agreed)
        self.pending = None
        return True

    def isr_refused(self, change: IsrChange, code: ErrorCode) -> bool:
        self.heard.append(code)
        return code in self.repeats


class World:
    """Partitions, and a decider that answers when it is told to."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.partitions: dict[Key, Partition] = {("t", n): Partition(("t", n)) for n in range(3)}
        self.asked: list[list[Key]] = []
        self.answers: asyncio.Queue[Mapping[Key, Decided] | Exception] = asyncio.Queue()
        self.moved: list[Key] = []
        self.changes = IsrChanges(
            self._decide,
            lambda *key: self.partitions.get(key),  # type: ignore[arg-type, return-value]
            self.moved.append,
            self.clock,
            Logs("debug", io.StringIO()).room("replication"),
        )

    async def _decide(self, changes: Sequence[IsrChange]) -> Mapping[Key, Decided]:
        self.asked.append([each.key for each in changes])
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def want(self, index: int, *isr: int) -> None:
        self.changes.submit(self.partitions["t", index].wants(*isr))

    async def turn(self) -> None:
        for _ in range(PASSES):
            await asyncio.sleep(0)

    async def answer(self, answer: Mapping[Key, Decided] | Exception) -> None:
        self.answers.put_nowait(answer)
        await self.turn()

    async def later(self) -> None:
        self.clock.advance(10 * AGAIN_MS)
        await self.turn()


def run(scene: Callable[[World], Awaitable[None]]) -> None:
    async def play() -> None:
        world = World()
        await scene(world)
        world.changes.stop()

    asyncio.run(play())


def test_what_comes_while_one_is_under_way_goes_together_in_the_next() -> None:
    async def scene(world: World) -> None:
        world.want(0, 1, 2)
        await world.turn()
        world.want(1, 1, 2)
        world.want(2, 1, 2)
        await world.turn()
        assert world.asked == [[("t", 0)]]
        agreed = Agreed(3, (1, 2), 6)
        await world.answer({("t", 0): agreed})
        assert world.partitions["t", 0].heard == [tuple(agreed)]
        assert world.asked[1:] == [[("t", 1), ("t", 2)]], "at once"
        await world.answer({("t", 1): agreed, ("t", 2): ErrorCode.INVALID_UPDATE_VERSION})
        assert world.partitions["t", 2].heard == [ErrorCode.INVALID_UPDATE_VERSION]
        await world.later()
        assert len(world.asked) == 2
        assert world.moved == [("t", 0), ("t", 1)]

    run(scene)


def test_it_is_repeated_until_it_is_answered_and_to_no_purpose_no_more() -> None:
    async def scene(world: World) -> None:
        world.want(0, 1, 2)
        world.want(1, 1, 2)
        await world.turn()
        await world.answer(Unanswered("nobody is controller"))
        assert len(world.asked) == 1, "not at once"
        world.partitions["t", 1].pending = None  # the controller has said something newer
        del world.partitions["t", 2]
        await world.later()
        assert world.asked[1:] == [[("t", 0)]]
        await world.answer(ValueError("a bug"))
        await world.later()
        await world.answer({("t", 0): ErrorCode.NOT_CONTROLLER})
        await world.later()
        await world.answer({})
        await world.later()
        assert world.asked[1:] == [[("t", 0)]] * 4
        await world.answer({("t", 0): Agreed(3, (1, 2), 6)})
        await world.later()
        assert len(world.asked) == 5
        assert world.partitions["t", 0].heard == [ErrorCode.NOT_CONTROLLER, (3, (1, 2), 6)]

    run(scene)


def test_a_newer_wish_takes_the_place_of_one_under_way() -> None:
    async def scene(world: World) -> None:
        world.want(0, 1, 2)
        await world.turn()
        world.want(0, 1, 3)
        await world.answer({("t", 0): ErrorCode.FENCED_LEADER_EPOCH})
        await world.later()
        assert len(world.asked) == 2
        await world.answer({("t", 0): Agreed(3, (1, 3), 6)})
        assert world.partitions["t", 0].heard[-1] == (3, (1, 3), 6)
        assert len(world.asked) == 2

    run(scene)


def test_after_a_refusal_nothing_is_asked_for_a_while() -> None:
    """Or a replica that may not join, and fetches a thousand times a second, asks as often."""

    async def scene(world: World) -> None:
        world.want(0, 1, 2)
        await world.turn()
        await world.answer({("t", 0): ErrorCode.INELIGIBLE_REPLICA})
        world.want(0, 1, 2)
        await world.turn()
        assert len(world.asked) == 1
        await world.later()
        assert len(world.asked) == 2

    run(scene)


class Controller:
    """A controller that serves AlterPartition up to a version."""

    def __init__(self, latest: int, code: ErrorCode = ErrorCode.NONE) -> None:
        self.latest, self.code = latest, code
        self.requests: list[tuple[int, AlterPartitionRequest]] = []

    async def ask(
        self, request: AlterPartitionRequest, versions: tuple[int, int]
    ) -> AlterPartitionResponse:
        if versions[0] > self.latest:
            raise Unsupported("too old")
        version = min(self.latest, versions[1])
        ClientConnection("of a test").send(request, version)  # it can be written
        self.requests.append((version, request))
        topics = [
            TopicDataResponse(
                topic_name=topic.topic_name if version < 2 else "",
                topic_id=topic.topic_id if version >= 2 else ZERO_UUID,
                partitions=[
                    PartitionDataResponse(
                        partition_index=each.partition_index, error_code=int(self.code),
                        leader_id=1, leader_epoch=3, isr=[1, 2], partition_epoch=6,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]  # fmt: skip
        return AlterPartitionResponse(topics=topics)


def decided_by(controller: Controller, topic_id: Uuid = TOPIC_ID) -> Mapping[Key, Decided]:
    changes = [Partition(("t", n)).wants(1, 2, topic_id=topic_id) for n in (1, 0)]
    decider = ControllerDecides(1, lambda: 71, controller.ask)
    return asyncio.run(decider.decide(changes))


def test_each_version_is_asked_in_its_own_words() -> None:
    for latest in range(4):
        controller = Controller(latest)
        assert decided_by(controller) == {("t", n): Agreed(3, (1, 2), 6) for n in (0, 1)}
        ((version, request),) = controller.requests
        assert version == latest and (request.broker_id, request.broker_epoch) == (1, 71)
        (topic,) = request.topics
        assert [each.partition_index for each in topic.partitions] == [0, 1]
        for each in topic.partitions:
            named = [(b.broker_id, b.broker_epoch) for b in each.new_isr_with_epochs]
            if version == 3:
                assert named == [(1, -1), (2, 72)]
            else:
                assert each.new_isr == [1, 2]
    assert decided_by(Controller(3), ZERO_UUID) == {("t", n): Agreed(3, (1, 2), 6) for n in (0, 1)}


def test_a_refusal_is_the_partitions_and_one_of_everything_is_no_answer() -> None:
    codes = decided_by(Controller(3, ErrorCode.INELIGIBLE_REPLICA))
    assert set(codes.values()) == {ErrorCode.INELIGIBLE_REPLICA}

    async def refuse(_: AlterPartitionRequest, __: tuple[int, int]) -> AlterPartitionResponse:
        return AlterPartitionResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))

    async def scene() -> bool:
        try:
            await ControllerDecides(1, lambda: 71, refuse).decide([])
        except Unanswered:
            return True
        return False

    assert asyncio.run(scene())


def test_before_protocol_2_7_the_leader_writes_and_gives_notice() -> None:
    async def scene() -> None:
        epoch, (registry,) = await ruling()
        await registry.topics.create("t1", THREE, {})
        await registry.partitions.create(states("t1", THREE), epoch)
        decider = LeaderDecides(1, registry.partitions, registry.isr_changes)

        def wish(index: int, partition_epoch: int, *isr: int) -> IsrChange:
            return IsrChange(
                ("t1", index), ZERO_UUID, isr, [-1] * len(isr), leader_epoch=0,
                partition_epoch=partition_epoch, controller_epoch=1,
            )  # fmt: skip

        wishes = [wish(0, 0, 1, 2), wish(1, 7, 1, 2), wish(9, 0, 1)]
        assert await decider.decide(wishes) == {
            ("t1", 0): Agreed(0, (1, 2), 1),
            ("t1", 1): ErrorCode.INVALID_UPDATE_VERSION,
            ("t1", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        found = await registry.partitions.read([("t1", 0)])
        assert found["t1", 0] == VersionedState(PartitionState(1, 0, [1, 2], 1), 1)
        (notice,) = await registry.isr_changes.read_all()
        assert decode_partitions(notice.body) == [("t1", 0)]
        again = await decider.decide([wish(0, 0, 1, 2)])
        assert again == {("t1", 0): Agreed(0, (1, 2), 1)}, "whose answer was lost"

    asyncio.run(scene())
