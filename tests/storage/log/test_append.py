from pathlib import Path

import pytest
from crc32c import crc32c

from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import HEADER, crc_is_valid, parse_header, walk
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTimestamp,
    InvalidTransactionState,
    OffsetsOutOfOrder,
    OutOfOrderSequence,
    RecordListTooLarge,
    RecordTooLarge,
    StorageError,
    UnexpectedAppendOffset,
    UnsupportedCodec,
)
from barnabas.storage.log.log import Log
from barnabas.storage.producers.entry import AppendOrigin

from ..logs import NOW_MS, a_batch, append, end_transaction, fill, offsets, open_log, read_all


def stamped(batch: bytes, base_offset: int, leader_epoch: int = 0) -> bytes:
    fields = list(HEADER.unpack_from(batch))
    fields[0], fields[2] = base_offset, leader_epoch
    return HEADER.pack(*fields) + batch[HEADER.size :]


def test_a_batch_gets_the_next_offsets_and_the_epoch(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    first, second = a_batch(3), a_batch(2, timestamp=NOW_MS - 50)
    wanted = [stamped(bytes(first), 0, 5), stamped(bytes(second), 3, 5)]
    info = append(log, first, 5)
    assert (info.first_offset, info.last_offset, info.record_count) == (0, 2, 3)
    assert (info.max_timestamp, info.log_append_time_ms) == (NOW_MS + 2, -1)
    info = append(log, second, 5)
    assert (info.first_offset, info.last_offset, info.max_timestamp) == (3, 4, NOW_MS - 49)
    assert [data for _, data in read_all(log)] == wanted
    assert log.log_end_offset == 5
    assert log.lookup.end_offset_for_epoch(5) == (5, 5)


def test_a_bytearray_will_do(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append_as_leader(a_batch(), 0, NOW_MS)
    assert offsets(log) == [(0, 0)]


@pytest.mark.parametrize("settings", [{}, {"cleanup_policy": ("compact",)}])
def test_both_ways_write_the_same(tmp_path: Path, settings: dict[str, object]) -> None:
    log = open_log(tmp_path, **settings)
    fill(log, 3, 2)
    assert offsets(log) == [(0, 1), (2, 3), (4, 5)]
    assert all(crc_is_valid(data, parse_header(data)) for _, data in read_all(log))


def broken(position: int, value: bytes) -> bytearray:
    batch = a_batch(2)
    batch[position : position + len(value)] = value
    return batch


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (broken(80, b"\xff"), CorruptBatch),
        (broken(8, (20).to_bytes(4)), CorruptBatch),
        (broken(8, (2000).to_bytes(4)), CorruptBatch),
        (broken(16, b"\x09"), CorruptBatch),
        (broken(0, (5).to_bytes(8)), InvalidRecord),
        (bytearray(b"short"), CorruptBatch),
        (a_batch(value=b"v" * 2000), RecordTooLarge),
        (a_batch(timestamp=NOW_MS + 3_600_002), InvalidTimestamp),
    ],
)
def test_what_is_wrong_is_refused_whole(
    tmp_path: Path, batch: bytearray, error: type[StorageError]
) -> None:
    log = open_log(tmp_path, max_message_bytes=1500, message_timestamp_after_max_ms=3_600_000)
    append(log, a_batch())
    with pytest.raises(error) as raised:
        append(log, batch)
    assert raised.value.topic_partition == "t-0"
    assert offsets(log) == [(0, 0)]
    append(log, a_batch())
    assert offsets(log) == [(0, 0), (1, 1)]


def test_a_wrong_count_or_control_batch_of_a_client_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for position, value in ((23, (5).to_bytes(4)), (21, (0x20).to_bytes(2))):
        batch = broken(position, value)
        batch[17:21] = crc32c_of(batch)
        with pytest.raises(InvalidRecord):
            append(log, batch)
    assert log.log_end_offset == 0


def crc32c_of(batch: bytearray) -> bytes:
    return int(crc32c(bytes(batch[21:]))).to_bytes(4)


def test_zstd_only_where_the_request_may_hold_it(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    with pytest.raises(UnsupportedCodec):
        log.append_as_leader(
            a_batch(codec=Codec.ZSTD), 0, NOW_MS, one_v2_batch=True, allow_zstd=False
        )
    log.append_as_leader(a_batch(codec=Codec.LZ4), 0, NOW_MS, allow_zstd=False)
    log.append_as_leader(a_batch(codec=Codec.ZSTD), 0, NOW_MS)
    assert offsets(log) == [(0, 0), (1, 1)]


def test_more_than_a_segment_can_hold_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=200)
    with pytest.raises(RecordListTooLarge):
        append(log, a_batch(value=b"v" * 300))
    assert log.log_end_offset == 0


def test_a_follower_takes_what_its_leader_has_whatever_a_segment_may_hold_by_now(
    tmp_path: Path,
) -> None:
    log = open_log(tmp_path, segment_bytes=200)
    for offset in range(3):
        batch = stamped(bytes(a_batch(value=b"v" * 300)), offset)
        assert log.append_as_follower(batch, NOW_MS).last_offset == offset
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]
    assert len(list(read_all(log))) == 3


def test_log_append_time(tmp_path: Path) -> None:
    log = open_log(tmp_path, message_timestamp_type="LogAppendTime")
    info = append(log, a_batch(2, timestamp=5))
    assert (info.max_timestamp, info.log_append_time_ms) == (NOW_MS, NOW_MS)
    ((header, data),) = read_all(log)
    assert (header.max_timestamp, header.is_log_append_time) == (NOW_MS, True)
    assert crc_is_valid(data, header)


def test_the_broker_compresses_where_the_topic_says_so(tmp_path: Path) -> None:
    log = open_log(tmp_path, compression_type="gzip")
    append(log, a_batch(3, value=b"v" * 100))
    ((header, _),) = read_all(log)
    assert (header.codec, header.record_count) == (Codec.GZIP, 3)


# --- producers -----------------------------------------------------------------------------


def send(log: Log, sequence: int, count: int = 2, epoch: int = 0, **facts: bool) -> tuple[int, int]:
    batch = a_batch(count, producer_id=7, epoch=epoch, sequence=sequence, **facts)
    info = append(log, batch)
    return info.first_offset, info.last_offset


def test_a_batch_sent_again_is_not_written_again(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    places = [send(log, 2 * number) for number in range(7)]
    for number in range(2, 7):
        info = append(log, a_batch(2, producer_id=7, epoch=0, sequence=2 * number))
        assert info.is_duplicate
        assert (info.first_offset, info.last_offset) == places[number]
    assert log.log_end_offset == 14
    with pytest.raises(OutOfOrderSequence):
        send(log, 2)


def test_sequences_have_no_gaps(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    send(log, 0)
    for sequence in (1, 3, 100):
        with pytest.raises(OutOfOrderSequence) as raised:
            send(log, sequence)
        assert raised.value.offset == 2
    send(log, 2)
    send(log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        send(log, 4)
    assert log.log_end_offset == 6
    (entry,) = log.producer_entries()
    assert (entry.epoch, entry.last_sequence) == (1, 1)


def test_a_coordinator_is_not_asked_for_sequences(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    send(log, 0)
    batch = a_batch(2, producer_id=7, epoch=0, sequence=0, transactional=True)
    info = log.append_as_leader(batch, 0, NOW_MS, origin=AppendOrigin.COORDINATOR)
    assert (info.first_offset, info.is_duplicate) == (2, False)


def test_transactions_hold_back_what_is_stable(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    send(log, 0)
    send(log, 2, transactional=True)
    send(log, 4, transactional=True)
    append(log, a_batch(1))
    assert log.last_stable_offset == 2
    with pytest.raises(InvalidTransactionState):
        send(log, 6)
    end_transaction(log, 7, commit=True)
    assert log.last_stable_offset == 8
    send(log, 6)
    assert log.active_segment.transaction_index.entries() == []


def test_what_is_stable_waits_for_the_marker_to_be_replicated(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    send(log, 0, transactional=True)
    high_watermark = log.high_watermark
    end = end_transaction(log, 7, commit=False).last_offset
    log.update_high_watermark(high_watermark)
    assert log.last_stable_offset == 2
    log.update_high_watermark(end + 1)
    assert log.last_stable_offset == 3


def test_a_marker_of_version_2_starts_a_new_epoch(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    send(log, 0, transactional=True)
    with pytest.raises(InvalidProducerEpoch):
        end_transaction(log, 7, commit=True, epoch=0, transaction_version=2)
    end_transaction(log, 7, commit=True, epoch=1, transaction_version=2)
    end_transaction(log, 7, commit=True, epoch=1, transaction_version=2)
    with pytest.raises(InvalidProducerEpoch):
        send(log, 2, transactional=True)
    send(log, 0, epoch=1, transactional=True)
    assert log.last_stable_offset == 4


def test_a_transaction_starts_only_with_proof(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.appender.verifies_transactions = True
    batch = a_batch(2, producer_id=7, epoch=0, sequence=0, transactional=True)
    with pytest.raises(InvalidTransactionState):
        log.append_as_leader(bytearray(batch), 0, NOW_MS)
    guard = log.appender.start_transaction_verification(7, 0, 0, NOW_MS, can_bump_epoch=False)
    end_transaction(log, 7, commit=False)
    with pytest.raises(InvalidTransactionState):
        log.append_as_leader(bytearray(batch), 0, NOW_MS, verification_guard=guard)
    guard = log.appender.start_transaction_verification(7, 0, 0, NOW_MS, can_bump_epoch=False)
    log.append_as_leader(bytearray(batch), 0, NOW_MS, verification_guard=guard)
    assert (
        log.appender.start_transaction_verification(7, 0, 2, NOW_MS, can_bump_epoch=False) is None
    )
    send(log, 2, transactional=True)


def test_the_next_transaction_is_not_the_one_that_is_still_open(tmp_path: Path) -> None:
    """With version 2 a producer goes on with the next epoch before the marker has come: taken in
    here, its batch would raise the epoch, and the marker would be refused as one that is late."""
    log = open_log(tmp_path)
    log.appender.verifies_transactions = True
    guard = log.appender.start_transaction_verification(7, 0, 0, NOW_MS, can_bump_epoch=True)
    first = a_batch(1, producer_id=7, epoch=0, sequence=0, transactional=True)
    log.append_as_leader(bytearray(first), 0, NOW_MS, verification_guard=guard)
    following = a_batch(1, producer_id=7, epoch=1, sequence=0, transactional=True)
    with pytest.raises(InvalidTransactionState):
        log.append_as_leader(bytearray(following), 0, NOW_MS)
    assert log.appender.start_transaction_verification(7, 1, 0, NOW_MS, can_bump_epoch=True)
    end_transaction(log, 7, epoch=1, commit=True)
    guard = log.appender.start_transaction_verification(7, 1, 0, NOW_MS, can_bump_epoch=True)
    log.append_as_leader(bytearray(following), 0, NOW_MS, verification_guard=guard)
    assert log.last_stable_offset == 2


# --- followers -----------------------------------------------------------------------------


def test_a_follower_takes_offsets_and_epochs_as_they_are(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    sent = stamped(bytes(a_batch(2)), 10, 3) + stamped(bytes(a_batch(1)), 15, 4)
    info = log.append_as_follower(sent, NOW_MS)
    assert (info.first_offset, info.last_offset) == (10, 15)
    assert log.log_end_offset == 16
    log.offsets.start = 10
    assert b"".join(data for _, data in read_all(log)) == sent
    assert log.epochs.entries() == [(3, 10), (4, 15)]


def test_a_follower_leaves_out_a_batch_that_was_cut(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    whole = stamped(bytes(a_batch(2)), 0)
    log.append_as_follower(whole + stamped(bytes(a_batch(1)), 2)[:-1], NOW_MS)
    assert offsets(log) == [(0, 1)]
    assert log.append_as_follower(whole[:30], NOW_MS).last_offset == -1


def test_a_follower_refuses_what_does_not_fit(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 2, 2)
    batch = bytes(a_batch(2))
    with pytest.raises(UnexpectedAppendOffset):
        log.append_as_follower(stamped(batch, 3), NOW_MS)
    with pytest.raises(OffsetsOutOfOrder):
        log.append_as_follower(stamped(batch, 4) + stamped(batch, 5), NOW_MS)
    torn = bytearray(stamped(batch, 4))
    torn[-1] ^= 1
    with pytest.raises(CorruptBatch):
        log.append_as_follower(bytes(torn), NOW_MS)
    assert log.log_end_offset == 4


def test_a_follower_keeps_the_producers_like_its_leader(tmp_path: Path) -> None:
    leader = open_log(tmp_path)
    send(leader, 0, transactional=True)
    append(leader, a_batch(2))
    end_transaction(leader, 7, commit=False)
    send(leader, 2)
    (tmp_path / "follower").mkdir()
    follower = open_log(tmp_path / "follower")
    follower.append_as_follower(b"".join(data for _, data in read_all(leader)), NOW_MS)
    assert follower.producer_entries() == leader.producer_entries()
    aborted = follower.active_segment.transaction_index.entries()
    assert aborted == leader.active_segment.transaction_index.entries() != []
    assert [header.last_offset for header in walk(b"".join(d for _, d in read_all(follower)))] == [
        header.last_offset for header, _ in read_all(leader)
    ]
