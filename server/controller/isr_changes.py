"""What a controller says to leaders that want their in-sync sets changed (AlterPartition).

A leader that knows less than the controller is told so, and waits for the news that are on their
way to it; one that knows more asks a controller that has been replaced. What is asked for twice is
so already. In sync are only replicas that are online, in the registration that the leader has seen
them fetch in (KIP-841, KIP-903).

Source: KafkaController.processAlterPartition, and of the quorum's ReplicationControlManager what
it refuses besides: a stranger that asks, a set that is none.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, TypeAlias

from barnabas.server.controller.control_messages import Told
from barnabas.server.controller.leading import Leading
from barnabas.server.controller.online import Key, OnlineReplicas
from barnabas.server.core.errors import code_of
from barnabas.server.core.turns import Pauses
from barnabas.server.observing.logs import Log
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.znodes.store import BadVersion, ZnodeError
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    PartitionDataRequest,
    PartitionDataResponse,
    TopicDataRequest,
    TopicDataResponse,
)
from barnabas.wire.uuids import Uuid

ANY_EPOCH: Final = -1
NOT_YET: Final = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})
"""Of a replica that fetches and may not join: said as often as it fetches."""
RECOVERED: Final = 0
RECOVERING: Final = 1
INELIGIBLE_SINCE: Final = 2  # of AlterPartition
IDS_SINCE: Final = 2


class Wanted(NamedTuple):
    """What a leader asks for; `isr` is by replica its broker epoch, ANY_EPOCH if not known."""

    leader_id: int
    leader_epoch: int
    partition_epoch: int
    isr: Mapping[int, int]
    leader_recovery_state: int = RECOVERED


Verdict: TypeAlias = PartitionState | ErrorCode | None
"""The state to be written, or why there is none; None: it is so already."""


def judge(
    known: Told | None,
    wanted: Wanted,
    online: Collection[int],
    epochs: Mapping[int, int],
    version: int,
) -> Verdict:
    """What comes of a wish; `epochs` are those of the live brokers' registrations."""
    if known is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    state = known.state
    if wanted.partition_epoch > known.partition_epoch or wanted.leader_epoch > state.leader_epoch:
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < state.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if _is_none(wanted, known):
        return ErrorCode.INVALID_REQUEST
    if set(wanted.isr) == set(state.isr) and (
        wanted.leader_recovery_state == state.leader_recovery_state
    ):
        return None
    if wanted.partition_epoch < known.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if wanted.leader_recovery_state == RECOVERING and (
        len(wanted.isr) > 1 or state.leader_recovery_state == RECOVERED
    ):
        return ErrorCode.INVALID_REQUEST
    if any(
        replica not in online or epoch not in (ANY_EPOCH, epochs.get(replica))
        for replica, epoch in wanted.isr.items()
    ):
        if version >= INELIGIBLE_SINCE:
            return ErrorCode.INELIGIBLE_REPLICA
        return ErrorCode.OPERATION_NOT_ATTEMPTED
    return state._replace(isr=list(wanted.isr), leader_recovery_state=wanted.leader_recovery_state)


def _is_none(wanted: Wanted, known: Told) -> bool:
    """Whether it is not the leader that asks, or not for a set of replicas with itself."""
    isr = wanted.isr.keys()
    return (
        wanted.leader_id != known.state.leader
        or wanted.leader_id not in isr
        or not isr <= set(known.replicas)
    )


class IsrDecisions:
    """What one controller decides on in-sync sets."""

    def __init__(
        self,
        leading: Leading,
        online: OnlineReplicas,
        epochs: Callable[[], Mapping[int, int]],
        name_of: Callable[[Uuid], str | None],
        log: Log,
    ) -> None:
        """`epochs` are those of the live brokers' registrations."""
        self._leading = leading
        self._online = online
        self._epochs = epochs
        self._name_of = name_of
        self._log = log

    async def decide(
        self, request: AlterPartitionRequest, version: int, pauses: Pauses
    ) -> AlterPartitionResponse:
        """Write what may be, and say what became of each. Raises ControllerMoved."""
        if self._epochs().get(request.broker_id) != request.broker_epoch:
            return AlterPartitionResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH))
        named = [(topic, self._named(topic, version)) for topic in request.topics]
        verdicts: dict[Key, Verdict] = {}
        for topic, name in named:
            if name is None:
                continue
            for each in topic.partitions:
                await pauses.pause()
                key = (name, each.partition_index)
                verdicts[key] = self._judge(request.broker_id, key, each, version)
        verdicts.update(await self._write(verdicts))
        response = AlterPartitionResponse()
        for topic, name in named:
            answer = TopicDataResponse(topic_name=topic.topic_name, topic_id=topic.topic_id)
            response.topics.append(answer)
            for each in topic.partitions:
                await pauses.pause()
                key = (name or "", each.partition_index)
                answer.partitions.append(self._answer(key, verdicts))
        return response

    def _named(self, topic: TopicDataRequest, version: int) -> str | None:
        return topic.topic_name if version < IDS_SINCE else self._name_of(topic.topic_id)

    def _judge(
        self, leader_id: int, key: Key, asked: PartitionDataRequest, version: int
    ) -> Verdict:
        isr = {each.broker_id: each.broker_epoch for each in asked.new_isr_with_epochs}
        wanted = Wanted(
            leader_id, asked.leader_epoch, asked.partition_epoch,
            isr or dict.fromkeys(asked.new_isr, ANY_EPOCH), asked.leader_recovery_state,
        )  # fmt: skip
        online = self._online.brokers_of(key)
        verdict = judge(self._leading.find(*key), wanted, online, self._epochs(), version)
        if isinstance(verdict, ErrorCode):
            say = self._log.debug if verdict in NOT_YET else self._log.info
            say(
                "an in-sync set is not changed", topic=key[0], partition=key[1],
                leader=leader_id, wanted=",".join(map(str, wanted.isr)), why=verdict.name,
            )  # fmt: skip
        return verdict

    async def _write(self, verdicts: Mapping[Key, Verdict]) -> dict[Key, Verdict]:
        """What could not be written, and why."""
        states = {k: each for k, each in verdicts.items() if isinstance(each, PartitionState)}
        outcomes = await self._leading.write(states)
        return {
            key: ErrorCode.INVALID_UPDATE_VERSION
            if isinstance(outcome, BadVersion)
            else code_of(outcome)
            for key, outcome in outcomes.items()
            if isinstance(outcome, ZnodeError)
        }

    def _answer(self, key: Key, verdicts: Mapping[Key, Verdict]) -> PartitionDataResponse:
        verdict = verdicts.get(key, ErrorCode.UNKNOWN_TOPIC_ID)
        known = self._leading.find(*key)
        if known is None and not isinstance(verdict, ErrorCode):
            verdict = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # it has gone meanwhile
        if known is None or isinstance(verdict, ErrorCode):
            assert isinstance(verdict, ErrorCode)
            return PartitionDataResponse(
                partition_index=key[1], error_code=int(verdict), leader_id=0, leader_epoch=0,
                partition_epoch=0,
            )  # fmt: skip
        state = known.state
        return PartitionDataResponse(
            partition_index=key[1],
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            leader_recovery_state=state.leader_recovery_state,
            partition_epoch=known.partition_epoch,
        )
