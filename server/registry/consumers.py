"""Offsets of old consumer groups, kept by OffsetCommit version 0 and by the clients themselves."""

from collections.abc import Sequence

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.znodes.names import require_valid
from barnabas.server.registry.znodes.store import (
    BadArguments,
    NodeExists,
    NoNode,
    Znode,
    ZnodeStore,
)


class Consumers:
    """The znodes of old consumer groups."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store

    def may_have_group(self, group: str) -> bool:
        """Whether a group's offsets can be kept here: no znode can have just any name."""
        try:
            require_valid(paths.consumer_ids(group))
        except BadArguments:
            return False
        return True

    async def write_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset; the group's znodes are made on the way."""
        path = paths.consumer_offset(group, topic, partition)
        body = bodies.encode_number(offset)
        try:
            await self._store.set(path, body)
        except NoNode:
            try:
                await self._store.create(path, body, make_parents=True)
            except NodeExists:
                await self._store.set(path, body)

    async def read_offsets(
        self, group: str, partitions: Sequence[tuple[str, int]]
    ) -> dict[tuple[str, int], int]:
        """Return the committed offsets; a partition without one is left out."""
        wanted = [paths.consumer_offset(group, *partition) for partition in partitions]
        znodes = await self._store.get_many(wanted)
        offsets = {
            partition: _offset(znode) for partition, znode in zip(partitions, znodes, strict=True)
        }
        return {partition: offset for partition, offset in offsets.items() if offset is not None}

    async def delete_all(self) -> None:
        """Forget every old consumer group: members, claims and offsets."""
        for group in await self._store.children(paths.CONSUMERS):
            await self._delete(f"{paths.CONSUMERS}/{group}")

    async def _delete(self, path: str) -> None:
        for name in await self._store.children(path):
            await self._delete(f"{path}/{name}")
        await self._store.delete(path)


def _offset(znode: Znode | None) -> int | None:
    if znode is None or not znode.data:
        return None
    return bodies.decode_number(znode.data)
