"""Brokers that ask to be relieved before they stop (KafkaController.doControlledShutdown).

It is told to follow nothing more, leaves the in-sync sets of that, in this order: one that fetches
on would be in sync again. What it leads goes to another replica in sync. It stays in this state
until its registration ends; what nobody else can lead it leads until then, and is told so: it may
ask again.
"""

from barnabas.server.controller.announcements import Announcements
from barnabas.server.controller.control_messages import Told
from barnabas.server.controller.leading import Leading
from barnabas.server.controller.online import Key, OnlineReplicas
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.wire.error_codes import ErrorCode

ANY_EPOCH = -1  # of a broker that does not know its own


class Shutdowns:
    """Relieves brokers."""

    def __init__(
        self, leading: Leading, announcements: Announcements, online: OnlineReplicas, log: Log
    ) -> None:
        self._leading = leading
        self._announcements = announcements
        self._online = online
        self._log = log

    async def relieve(self, broker_id: int, broker_epoch: int) -> list[Key]:
        """Move off a broker what others can lead; what is left of that with replicas elsewhere.

        Raises ApiError BROKER_NOT_AVAILABLE for one that is not registered, STALE_BROKER_EPOCH for
        an earlier life of it; and ControllerMoved.
        """
        registered = self._announcements.live.get(broker_id)
        if registered is None:
            raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE)
        if ANY_EPOCH != broker_epoch < registered.epoch:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH)
        self._log.info("a broker is stopping", broker=broker_id)
        self._online.stop(broker_id)
        followed = [each for each in self._held_by(broker_id) if each.state.leader != broker_id]
        await self._announcements.stop(followed, broker_id, is_deleted=False)
        await self._leading.settle(self._leading.topics_on([broker_id]))
        held = self._held_by(broker_id)
        left = [_key(each) for each in held if each.state.leader == broker_id]
        settled = {*map(_key, followed), *left}
        handed_over = [each for each in held if _key(each) not in settled]
        await self._announcements.stop(handed_over, broker_id, is_deleted=False)
        return left

    def _held_by(self, broker_id: int) -> list[Told]:
        """The partitions with a replica there, and another one elsewhere."""
        return [
            each
            for each in self._leading.all_told()
            if broker_id in each.replicas and len(each.replicas) > 1
        ]


def _key(partition: Told) -> Key:
    return partition.topic, partition.partition
