"""The controller: who it is, its election, and the fence around its writes.

/controller is ephemeral and names the controller; /controller_epoch counts the controllers
there have been. A candidate reads the epoch and then, in one transaction, makes /controller and
raises the epoch, expecting the version it read: of two candidates one loses. From then on every
write of the controller carries a check of that version, so that a controller which has been
replaced without knowing it (a long pause, a lost session) cannot write any more.
"""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.bodies import ControllerBody
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.znodes.store import (
    BadVersion,
    Check,
    Create,
    Delete,
    NodeExists,
    NoNode,
    Op,
    Result,
    SetData,
    Watch,
    Znode,
    ZnodeError,
    ZnodeStore,
)

FIRST_EPOCH = 0


class ControllerEpoch(NamedTuple):
    """The epoch a controller was elected with, and its fence: the version of the epoch's znode."""

    epoch: int
    znode_version: int

    def fence(self, *ops: Op) -> list[Op]:
        """Return the operations as a transaction that only this controller can do."""
        return [Check(paths.CONTROLLER_EPOCH, self.znode_version), *ops]


class ActiveController(NamedTuple):
    """The controller as read from its znode; `session_id` is the session that holds it."""

    broker_id: int
    timestamp_ms: int
    znode_version: int
    session_id: int


def raise_if_moved(outcome: Sequence[Result] | ZnodeError) -> None:
    """Raise ControllerMoved if a transaction was refused by its fence."""
    if isinstance(outcome, (BadVersion, NoNode)) and outcome.path == paths.CONTROLLER_EPOCH:
        raise ControllerMoved(str(outcome)) from outcome


class Controllers:
    """The controller's two znodes."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store

    async def read(self, watch: Watch | None = None) -> ActiveController | None:
        """Return the controller, and watch it come, go or change."""
        if await self._store.exists(paths.CONTROLLER, watch) is None:
            return None
        znode = (await self._store.get_many([paths.CONTROLLER]))[0]
        return None if znode is None else _decode(znode)

    async def read_epoch(self) -> ControllerEpoch:
        """Return the latest epoch; the first call of a new cluster makes it."""
        try:
            znode = await self._store.get(paths.CONTROLLER_EPOCH)
        except NoNode:
            with contextlib.suppress(NodeExists):
                body = bodies.encode_number(FIRST_EPOCH)
                await self._store.create(paths.CONTROLLER_EPOCH, body)
            znode = await self._store.get(paths.CONTROLLER_EPOCH)
        return ControllerEpoch(bodies.decode_number(znode.data), znode.stat.version)

    async def elect(self, broker_id: int, timestamp_ms: int) -> ControllerEpoch | None:
        """Try to become controller; None when another broker is, or was quicker."""
        latest = await self.read_epoch()
        elected = ControllerEpoch(latest.epoch + 1, latest.znode_version + 1)
        body = bodies.encode_controller(ControllerBody(broker_id, timestamp_ms))
        number = bodies.encode_number(elected.epoch)
        try:
            await self._store.multi(
                [
                    Create(paths.CONTROLLER, body, ephemeral=True),
                    SetData(paths.CONTROLLER_EPOCH, number, latest.znode_version),
                ]
            )
        except (NodeExists, BadVersion):
            return await self._own_election()
        return elected

    async def resign(self, epoch: ControllerEpoch) -> None:
        """Give the office up; raises ControllerMoved when it was lost before."""
        try:
            await self._store.multi(epoch.fence(Delete(paths.CONTROLLER)))
        except ZnodeError as error:
            raise_if_moved(error)
            if not isinstance(error, NoNode):
                raise

    async def _own_election(self) -> ControllerEpoch | None:
        """Return the epoch if an earlier try of this session, thought lost, had succeeded."""
        active = await self.read()
        if active is None or active.session_id != self._store.session_id:
            return None
        return await self.read_epoch()


def _decode(znode: Znode) -> ActiveController:
    body = bodies.decode_controller(znode.data or b"")
    return ActiveController(
        body.broker_id, body.timestamp_ms, znode.stat.version, znode.stat.ephemeral_owner
    )
