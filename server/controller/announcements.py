"""Telling brokers what the controller has decided, each of them what concerns it."""

from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)

from barnabas.server.cluster.control_values import LEADER_DURING_DELETION
from barnabas.server.controller import control_messages
from barnabas.server.controller.channels import Channels, Telling
from barnabas.server.controller.control_messages import Sender, Stopped, Told
from barnabas.server.controller.elections import FIRST_LEADER_EPOCH
from barnabas.server.controller.online import Key
from barnabas.server.observing.logs import Log
from barnabas.server.registry.brokers import RegisteredBroker
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from barnabas.wire.messages.stop_replica import StopReplicaResponse
from barnabas.wire.schema import Message

RolesTaken = Callable[[int, Mapping[Key, ErrorCode]], None]
"""Hears what came of the roles that a broker was given."""
HasStopped = Callable[[int, ErrorCode], None]
"""Hears what came of a broker's replicas that were to be deleted."""


class Announcements:
    """One controller's word to the brokers; `live` are those that hear it."""

    def __init__(
        self, channels: Channels, sender: Callable[[], Sender], roles_taken: RolesTaken, log: Log
    ) -> None:
        self._channels = channels
        self._log = log
        self._sender = sender
        self._roles_taken = roles_taken
        self.live: Mapping[int, RegisteredBroker] = {}

    def follow(self, live: Mapping[int, RegisteredBroker]) -> None:
        """These are the live brokers from now on."""
        self.live = live
        self._channels.follow(live)

    def fall_silent(self) -> None:
        """The office is lost."""
        self._channels.close()

    async def give_roles(
        self, partitions: Sequence[Told], to: Iterable[int], spared: Container[tuple[int, Key]] = ()
    ) -> None:
        """Tell each of these brokers which of the partitions it leads or follows.

        Those that have never had a leader are nobody's yet. Who is `spared` a partition has been
        told to follow it no more.
        """
        decided = [each for each in partitions if each.state.leader_epoch >= FIRST_LEADER_EPOCH]
        for broker_id, broker in self._brokers(to):
            if own := [
                _to(broker_id, each)
                for each in decided
                if broker_id in each.replicas and (broker_id, each.key) not in spared
            ]:
                request = control_messages.leader_and_isr(own, broker, self.live, self._sender())
                await self._tell(broker, request, self._judge_roles(broker_id, request))

    def _judge_roles(
        self, broker_id: int, request: LeaderAndIsrRequest
    ) -> Callable[[Message], None]:
        names = {topic.topic_id: topic.topic_name for topic in request.topic_states}

        def judge(answer: Message) -> None:
            assert isinstance(answer, LeaderAndIsrResponse)
            if answer.error_code:
                refusal = ErrorCode(answer.error_code).name
                self._log.warn("a broker refuses its controller", broker=broker_id, error=refusal)
            codes = {
                (each.topic_name, each.partition_index): ErrorCode(each.error_code)
                for each in answer.partition_errors
            }
            for topic in answer.topics:
                name = names.get(topic.topic_id, "")
                for each in topic.partition_errors:
                    codes[name, each.partition_index] = ErrorCode(each.error_code)
            self._roles_taken(broker_id, codes)

        return judge

    async def show(
        self, partitions: Sequence[Told], to: Iterable[int], *,
        deleted: Collection[str] = (), is_whole: bool = False,
    ) -> None:  # fmt: skip
        """Tell each of these brokers what clients are to know: all live brokers, and partitions."""
        for _, broker in self._brokers(to):
            request = control_messages.update_metadata(
                partitions, broker, self.live, self._sender(), deleted=deleted, is_whole=is_whole
            )
            await self._tell(broker, request)

    async def delete(
        self, partitions: Sequence[Told], to: Iterable[int], on_answer: HasStopped
    ) -> None:
        """Have each of these brokers delete its replicas of the partitions."""
        for broker_id, broker in self._brokers(to):
            doomed = [
                Stopped(each.topic, each.partition, LEADER_DURING_DELETION, True)
                for each in partitions
                if broker_id in each.replicas
            ]

            def judge(answer: Message, broker_id: int = broker_id) -> None:
                assert isinstance(answer, StopReplicaResponse)
                codes = [answer.error_code, *(each.error_code for each in answer.partition_errors)]
                on_answer(broker_id, ErrorCode(next(filter(None, codes), 0)))

            for request in control_messages.stop_replicas(doomed, broker, self._sender()):
                await self._tell(broker, request, judge)

    async def stop(
        self,
        partitions: Sequence[Told],
        broker_id: int,
        *,
        is_deleted: bool,
        on_answer: Callable[[Message], None] | None = None,
    ) -> None:
        """Have a broker give up its replicas of the partitions, or also delete them."""
        stopped = [
            Stopped(each.topic, each.partition, each.state.leader_epoch, is_deleted)
            for each in partitions
        ]
        for _, broker in self._brokers([broker_id]):
            for request in control_messages.stop_replicas(stopped, broker, self._sender()):
                await self._tell(broker, request, on_answer)

    def _brokers(self, ids: Iterable[int]) -> Iterator[tuple[int, RegisteredBroker]]:
        """Those of them that live; this one last: the others are at work while it is."""
        for broker_id in sorted(set(ids), key=lambda each: (each == self._channels.own_id, each)):
            if (broker := self.live.get(broker_id)) is not None:
                yield broker_id, broker

    async def _tell(
        self,
        broker: RegisteredBroker,
        request: Message,
        on_answer: Callable[[Message], None] | None = None,
    ) -> None:
        assert request.API_KEY is not None
        version = control_messages.version_of(ApiKey(request.API_KEY), self._sender().protocol)
        await self._channels.tell(broker, Telling(request, version, on_answer))


def _to(broker_id: int, partition: Told) -> Told:
    """As one broker is told: where replicas are added, it is new to these alone."""
    if partition.is_new and partition.adding and broker_id not in partition.adding:
        return partition._replace(is_new=False)
    return partition
