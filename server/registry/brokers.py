"""The brokers: their ephemeral registrations under /brokers/ids.

A broker's epoch is the transaction id (czxid) of its registration; controllers put it into
every request, so that a request meant for the broker's former life is recognised.
"""

from typing import NamedTuple

from barnabas.server.registry import paths
from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.registry.broker_body import BrokerRegistration, decode_broker, encode_broker
from barnabas.server.registry.errors import BrokerIdTaken
from barnabas.server.registry.znodes.store import (
    Create,
    NodeExists,
    SetData,
    Stat,
    Watch,
    Znode,
    ZnodeStore,
)


class RegisteredBroker(NamedTuple):
    """A live broker and the epoch of its registration."""

    registration: BrokerRegistration
    epoch: int


class Brokers:
    """The registrations of the live brokers."""

    def __init__(self, store: ZnodeStore, protocol: ProtocolVersion) -> None:
        self._store = store
        self._protocol = protocol

    async def register(self, broker: BrokerRegistration) -> int:
        """Register a broker for the life of this session and return its epoch.

        Raises BrokerIdTaken when the id belongs to another session that has not ended.
        """
        path = paths.broker(broker.broker_id)
        body = encode_broker(broker, self._protocol)
        try:
            # The empty creation and the second step are Kafka's; both have one transaction id.
            results = await self._store.multi(
                [Create(path, b"", ephemeral=True), SetData(path, body, 0)]
            )
        except NodeExists:
            return await self._own_registration(broker)
        stat = results[1]
        assert isinstance(stat, Stat)
        return stat.czxid

    async def next_id(self, largest_reserved: int) -> int:
        """Return an id above those that are configured, which no call has returned before.

        The znode's version counts them (Kafka's generateBrokerSequenceId).
        """
        stat = await self._store.set(paths.BROKER_SEQUENCE, b"")
        return largest_reserved + stat.version

    async def update(self, broker: BrokerRegistration) -> None:
        """Replace the registration, for instance after listeners changed; raises NoNode."""
        body = encode_broker(broker, self._protocol)
        await self._store.set(paths.broker(broker.broker_id), body)

    async def ids(self, watch: Watch | None = None) -> list[int]:
        """Return the ids of the live brokers and watch them come and go."""
        return sorted(map(int, await self._store.children(paths.BROKER_IDS, watch)))

    async def read(self, broker_id: int, watch: Watch | None = None) -> RegisteredBroker | None:
        """Return a live broker and watch its registration."""
        path = paths.broker(broker_id)
        if watch is not None:
            await self._store.exists(path, watch)
        return _decode(broker_id, (await self._store.get_many([path]))[0])

    async def read_all(self, watch: Watch | None = None) -> dict[int, RegisteredBroker]:
        """Return the live brokers by id and watch them come and go."""
        broker_ids = await self.ids(watch)
        znodes = await self._store.get_many([paths.broker(broker_id) for broker_id in broker_ids])
        decoded = (
            (broker_id, _decode(broker_id, znode))
            for broker_id, znode in zip(broker_ids, znodes, strict=True)
        )
        return {broker_id: broker for broker_id, broker in decoded if broker is not None}

    async def _own_registration(self, broker: BrokerRegistration) -> int:
        """Return the epoch if an earlier try of this session, thought lost, had succeeded."""
        stat = await self._store.exists(paths.broker(broker.broker_id))
        if stat is None:
            return await self.register(broker)
        if stat.ephemeral_owner != self._store.session_id:
            raise BrokerIdTaken(broker.broker_id)
        return stat.czxid


def _decode(broker_id: int, znode: Znode | None) -> RegisteredBroker | None:
    if znode is None or not znode.data:
        return None
    return RegisteredBroker(decode_broker(broker_id, znode.data), znode.stat.czxid)
