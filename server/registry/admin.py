"""What tools ask of the controller by a znode of its own: elections, and moves of replicas.

The controller watches both, does what they say, and removes them when that is done; a tool may
leave the next one then. Newer tools ask by ElectLeaders and AlterPartitionReassignments.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from barnabas.server.registry import notices, paths
from barnabas.server.registry.controller import ControllerEpoch, raise_if_moved
from barnabas.server.registry.znodes.store import (
    Delete,
    NoNode,
    Op,
    SetData,
    Watch,
    ZnodeError,
    ZnodeStore,
)

TopicPartition = tuple[str, int]
T = TypeVar("T")


class AdminRequests:
    """The two znodes."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store

    async def elections(self, watch: Watch | None = None) -> list[TopicPartition] | None:
        """The partitions to be led by their preferred leaders, None if there is no such wish.

        Watches it come, go and change. Raises ValueError for one that nobody can read.
        """
        return await self._read(paths.PREFERRED_REPLICA_ELECTION, notices.decode_partitions, watch)

    async def delete_elections(self, epoch: ControllerEpoch) -> None:
        """The elections have been held. Raises ControllerMoved."""
        await self._write(Delete(paths.PREFERRED_REPLICA_ELECTION), epoch)

    async def reassignments(
        self, watch: Watch | None = None
    ) -> dict[TopicPartition, list[int]] | None:
        """The partitions to be moved, and where to; None if there is no such wish.

        Watches it come, go and change. Raises ValueError for one that nobody can read.
        """
        return await self._read(paths.REASSIGN_PARTITIONS, notices.decode_reassignment, watch)

    async def write_reassignments(
        self, left: Mapping[TopicPartition, Sequence[int]], epoch: ControllerEpoch
    ) -> None:
        """These are the partitions that have still to be moved. Raises ControllerMoved."""
        path = paths.REASSIGN_PARTITIONS
        body = notices.encode_reassignment(left)
        await self._write(SetData(path, body) if left else Delete(path), epoch)

    async def _read(self, path: str, decode: Callable[[bytes], T], watch: Watch | None) -> T | None:
        if await self._store.exists(path, watch) is None:
            return None
        (znode,) = await self._store.get_many([path])
        return None if znode is None else decode(znode.data or b"")

    async def _write(self, op: Op, epoch: ControllerEpoch) -> None:
        try:
            await self._store.multi(epoch.fence(op))
        except ZnodeError as error:
            raise_if_moved(error)
            if not isinstance(error, NoNode):  # else its author has taken it back
                raise
