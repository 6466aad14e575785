"""Reading a partition of an internal topic back into what it says.

The log is replayed from its start: later records win, tombstones remove, records of a
transaction take effect at its commit marker. This is Python at work on the one loop that
everybody shares, so it goes in slices of a few milliseconds and other requests are served in
between; small partitions are done before the first pause.
"""

import asyncio
import time
from collections.abc import Iterator

from barnabas.server.coordinators.shards import Shard
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.header import BatchHeader, walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.storage.log.results import ReadBound

SLICE_MS = 4.0
RECORDS_BETWEEN_LOOKS = 64


async def replay(shard: Shard, buffer_bytes: int) -> None:
    """Replay the shard's log into it, letting others run; stops early if it is retired.

    `buffer_bytes` are read at once. Raises what the log or the shard raises.
    """
    slice_ends = time.monotonic() * 1000 + SLICE_MS
    for number, (record, header) in enumerate(_records(shard.partition, buffer_bytes)):
        if header.is_control:
            marker = parse_control(record)
            if isinstance(marker, EndTransactionMarker):
                shard.end_transaction(header.producer_id, marker.is_commit)
        else:
            shard.replay(record, header)
        if number % RECORDS_BETWEEN_LOOKS == 0 and time.monotonic() * 1000 > slice_ends:
            await asyncio.sleep(0)
            if shard.is_retired:
                return
            slice_ends = time.monotonic() * 1000 + SLICE_MS


def _records(partition: Partition, buffer_bytes: int) -> Iterator[tuple[Record, BatchHeader]]:
    """Every record with its batch's header, to the log's end.

    Between two of them the log may move to another directory: each read is of the one in use.
    """
    offset = partition.log.log_start_offset
    while offset < partition.log.log_end_offset:
        found = partition.log.read(offset, buffer_bytes, bound=ReadBound.LOG_END).records
        if found is None:
            return
        data = found.read()
        after = offset
        for header in walk(data, partial_tail=True):
            for record in decode_batch(data, header):
                yield record, header
            after = header.next_offset
        if after <= offset:
            return
        offset = after
