"""Reading for clients that may not know the message format their partitions are stored in.

v0 and v1 of Fetch understand message format 0, v2 and v3 format 1: newer batches are converted.
"""

from typing import Final

from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Waiting
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.replication.fetch_reader import EMPTY, FetchReader
from barnabas.server.replication.fetch_sessions import Key, Wanted
from barnabas.server.replication.replicas import Replicas
from barnabas.storage.batch.down_conversion import down_convert_in_steps, needs_down_conversion
from barnabas.storage.batch.header import walk
from barnabas.storage.disk.open_files import FileSlice
from barnabas.storage.errors import StorageError
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchRequest

CONVERTED_BELOW: Final = 4  # versions that may not know the format of what is stored
# So much of a log is converted for one answer; a client comes back for more.
MOST_CONVERTED_BYTES: Final = 1 << 20
BATCH_OVERHEAD_BYTES: Final = 1024  # what a batch may have beyond max.message.bytes, and more


class ConvertingReader(FetchReader):
    """A `FetchReader` to be used in steps, whose answers are bytes that have been converted."""

    __slots__ = ()

    def __init__(
        self,
        replicas: Replicas,
        read_ahead: ReadAhead,
        request: FetchRequest,
        version: int,
        wanted: dict[Key, Wanted],
        most_bytes: int,
    ) -> None:
        super().__init__(replicas, read_ahead, request, version, wanted, most_bytes)
        self.min_bytes = min(self.min_bytes, MOST_CONVERTED_BYTES // 2)

    def read_rest_in_steps(self) -> Waiting[None]:
        """Every partition's answer."""
        for key, wanted in tuple(self.wanted.items())[len(self.answers) :]:
            yield from self._read_converted(key, wanted)
            yield None

    def _read_converted(self, key: Key, wanted: Wanted) -> Waiting[None]:
        """Read one partition and convert what was found.

        What is converted for one answer is bounded, whatever the client would take, except that
        it holds a batch of the topic's largest size: a client must not stay where it is for ever.
        """
        partition = self.replicas.find(wanted.topic or "", wanted.index)
        if partition is not None:
            largest = partition.log.config.max_message_bytes + BATCH_OVERHEAD_BYTES
            most = max(MOST_CONVERTED_BYTES, largest)
            self.left_bytes = min(self.left_bytes, most - min(most, self.size))
        yield from self._read_warmed(key, wanted)
        answer = self.answers[-1][2]
        if not isinstance(answer.records, FileSlice):
            return
        stored = yield from self.read_ahead.content(answer.records)
        magic = 0 if self.version < 2 else 1
        try:
            records = stored
            if (yield from needs_down_conversion(stored, magic)):
                assert partition is not None
                if not partition.log.config.message_downconversion_enable:
                    raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
                records = yield from down_convert_in_steps(stored, magic, wanted.fetch_offset)
                partition.counts.fetch_message_conversions += _converted_count(stored, magic)
        except (ApiError, StorageError) as error:
            self._refuse(answer, error)
            records = EMPTY
        else:
            answer.records = records
        self.size += len(records) - len(stored)


def _converted_count(stored: bytes, magic: int) -> int:
    """How many records lie in the batches that a client of format `magic` gets converted."""
    headers = walk(stored, partial_tail=True)
    return sum(max(1, header.record_count) for header in headers if header.magic > magic)
