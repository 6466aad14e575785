"""Producer ids: blocks of a thousand, handed out once each through /latest_producer_id_block."""

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.bodies import PRODUCER_ID_BLOCK_SIZE, ProducerIdBlock
from barnabas.server.registry.errors import ProducerIdsExhausted
from barnabas.server.registry.znodes.store import BadVersion, Znode, ZnodeStore

_LARGEST_PRODUCER_ID = 2**63 - 1


class ProducerIds:
    """The znode that remembers the last block."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store

    async def next_block(self, broker_id: int) -> ProducerIdBlock:
        """Take the next block for a broker; two that ask at once get different ones."""
        while True:
            znode = await self._store.get(paths.PRODUCER_ID_BLOCK)
            block = ProducerIdBlock(broker_id, _next_start(znode))
            body = bodies.encode_producer_id_block(block)
            try:
                await self._store.set(paths.PRODUCER_ID_BLOCK, body, znode.stat.version)
                return block
            except BadVersion:
                continue


def _next_start(znode: Znode) -> int:
    if not znode.data:
        return 0
    last = bodies.decode_producer_id_block(znode.data)
    next_start = last.start + last.size
    if next_start - 1 > _LARGEST_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
        raise ProducerIdsExhausted
    return next_start
