"""The same appends through Apache Kafka and through our log leave the same bytes.

Kafka was given batches as they are, stopped cleanly, started again, given more, and stopped
once more (`kafka_runs`); our log is given the same with the leader epochs and times that Kafka
used. Every file of the partition is compared, after each of the two stops. But for one: Kafka ends
each log with a snapshot of its producers, even of none; we leave that out for a short log.
"""

from pathlib import Path

import pytest
from kafka_runs import KafkaRun
from same_appends import PHASES, Repeated, again_topics, batches, same_topics

from barnabas.server.cli.log_tools.verify_partition import PartitionCheck
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import HEADER, MAGIC_V2, BatchHeader
from barnabas.storage.batch.records import decode_batch, records_data
from barnabas.storage.directory.partition_metadata import NAME as PARTITION_METADATA
from barnabas.storage.segment.offset_index import OffsetIndex

VERSIONS = ("3.9.1", "4.4.0")
SNAPSHOT_HEADER_BYTES = 10
"""Version, checksum and the number of producers."""
SNAPSHOT_ENTRY_BYTES = 46
SAME = [(version, topic) for version in VERSIONS for topic in same_topics(version)]
AGAIN = [(version, topic) for version in VERSIONS for topic in again_topics()]


def theirs_of(kafka_run: KafkaRun, phase: int, topic: str) -> Path:
    return kafka_run.phases[phase] / f"{topic}-0"


def repeat(kafka_run: KafkaRun, repeated: Repeated, topic: str, phase: int) -> Path:
    """Make one phase's appends in our log; Kafka's directory after the same."""
    theirs = theirs_of(kafka_run, phase, topic)
    sent = [append for append in kafka_run.sent[phase] if append.topic == topic]
    repeated.run(theirs, sent, begins_epoch=phase > 0)
    return theirs


def files(directory: Path) -> dict[str, bytes]:
    """What the files hold, but for the partition's id and for snapshots without a producer."""
    found = {path.name: path.read_bytes() for path in directory.iterdir()}
    return {
        name: content
        for name, content in found.items()
        if name != PARTITION_METADATA
        and not (name.endswith(".snapshot") and len(content) == SNAPSHOT_HEADER_BYTES)
    }


def producers(snapshot: bytes) -> list[bytes]:
    """The entries of a snapshot; Kafka forgets at a start whose records are old, we do not."""
    entries = snapshot[SNAPSHOT_HEADER_BYTES:]
    return [
        entries[at : at + SNAPSHOT_ENTRY_BYTES]
        for at in range(0, len(entries), SNAPSHOT_ENTRY_BYTES)
    ]


@pytest.mark.parametrize(("version", "topic"), SAME)
def test_every_file_is_the_same(
    version: str, topic: str, kafka_run: KafkaRun, tmp_path: Path
) -> None:
    repeated = Repeated(tmp_path / f"{topic}-0", same_topics(version)[topic])
    for phase in range(PHASES):
        theirs, ours = files(repeat(kafka_run, repeated, topic, phase)), files(repeated.directory)
        assert sorted(ours) == sorted(theirs)
        for name, content in theirs.items():
            if name.endswith(".snapshot") and len(ours[name]) > len(content):
                assert set(producers(content)) < set(producers(ours[name])), (phase, name)
                assert phase == 1, "only a restart forgets"
            else:
                assert ours[name] == content, (phase, name)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_compared_is_not_trivial(version: str, kafka_run: KafkaRun) -> None:
    """Several segments, index entries, snapshots with producers, aborted transactions, epochs."""
    made = {topic: files(theirs_of(kafka_run, 1, topic)) for topic in same_topics(version)}
    for topic in ("same-plain", "same-idempotent", "same-codecs", "same-transactions"):
        assert sum(name.endswith(".log") for name in made[topic]) >= 4, topic
    entries = sum(
        len(content) // OffsetIndex.ENTRY.size
        for topic in made.values()
        for name, content in topic.items()
        if name.endswith(".index")
    )
    assert entries > 50
    last_snapshot = max(name for name in made["same-idempotent"] if name.endswith(".snapshot"))
    assert (
        len(made["same-idempotent"][last_snapshot])
        == SNAPSHOT_HEADER_BYTES + 3 * SNAPSHOT_ENTRY_BYTES
    )
    aborted = [
        content for name, content in made["same-transactions"].items() if name[20:] == ".txnindex"
    ]
    assert sum(len(content) for content in aborted) == 4 * 34
    epochs = made["same-plain"]["leader-epoch-checkpoint"].decode().splitlines()[2:]
    assert len(epochs) == (1 if version.startswith("3") else 2)  # KRaft counts the restart


@pytest.mark.parametrize(("version", "topic"), AGAIN)
def test_batches_compressed_anew_are_equal_within(
    version: str, topic: str, kafka_run: KafkaRun, tmp_path: Path
) -> None:
    """Headers equal but for length and CRC; records equal, decompressed byte for byte."""
    repeated = Repeated(tmp_path / f"{topic}-0", again_topics()[topic])
    for phase in range(PHASES):
        theirs = repeat(kafka_run, repeated, topic, phase)
        pairs = list(zip(batches(theirs), batches(repeated.directory), strict=True))
        for (their_batch, their_header), (our_batch, our_header) in pairs:
            assert header_fields(our_batch) == header_fields(their_batch)
            assert inside(our_batch, our_header) == inside(their_batch, their_header)
            assert our_header.codec == wanted_codec(topic)
        assert len(pairs) == (phase + 1) * 15
        check = PartitionCheck(repeated.directory, shallow=False)
        assert list(check.run()) == []
        assert smalls(repeated.directory) == smalls(theirs)


def header_fields(batch: bytes) -> list[int]:
    """All fields but size and CRC."""
    fields = list(HEADER.unpack(batch[: HEADER.size]))
    del fields[4], fields[1]
    return fields


def inside(batch: bytes, header: BatchHeader) -> tuple[bytes, int]:
    header.position = 0
    assert header.magic == MAGIC_V2
    return records_data(batch, header), len(list(decode_batch(batch, header)))


def wanted_codec(topic: str) -> Codec:
    name = topic.removeprefix("again-")
    return Codec.NONE if name == "uncompressed" else Codec[name.upper()]


def smalls(directory: Path) -> dict[str, bytes]:
    """The files that compression has no part in."""
    return {
        name: content
        for name, content in files(directory).items()
        if not name.endswith((".log", ".index", ".timeindex"))
    }
