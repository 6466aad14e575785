"""Apache Kafka works with directories that we wrote: its broker serves them to a client.

The topics are made in that Kafka, it is stopped, our files take the place of its own, and it is
started again (`kafka_runs`).
"""

from pathlib import Path

import pytest
from kafka_runs import LAST_KEY, KafkaRun
from our_logs import TOPICS
from partition_writer import NOW_MS
from same_appends import PHASES, batches

from barnabas.server.cli.log_tools.verify import DirectoryCheck
from barnabas.storage.batch.records import Record, decode_all
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig

VERSIONS = ("3.9.1", "4.4.0")
PARTITIONS = [
    TopicPartition(topic, number) for topic, (count, _) in TOPICS.items() for number in range(count)
]

pytestmark = pytest.mark.parametrize("version", VERSIONS)


def seen(records: list[Record]) -> list[Record]:
    """As a consumer sees them: without sequences."""
    return [
        Record(record.offset, record.timestamp, record.key, record.value, record.headers)
        for record in records
    ]


@pytest.mark.parametrize("partition", PARTITIONS, ids=str)
def test_a_consumer_gets_every_record(
    version: str, partition: TopicPartition, kafka_run: KafkaRun
) -> None:
    written = kafka_run.contents[partition]
    assert kafka_run.read["read_uncommitted"].get(partition, []) == seen(written.records)
    assert kafka_run.read["read_committed"].get(partition, []) == seen(written.committed)


def test_transactions_make_a_difference(version: str, kafka_run: KafkaRun) -> None:
    for partition in (TopicPartition("transactions", 0), TopicPartition("transactions", 1)):
        written = kafka_run.contents[partition]
        assert 0 < len(written.committed) < len(written.records)
    hanging = kafka_run.contents[TopicPartition("transactions", 1)]
    assert hanging.last_stable_offset < hanging.log_end_offset


def test_the_logs_begin_and_end_where_they_should(version: str, kafka_run: KafkaRun) -> None:
    wanted = {
        partition: (written.log_start_offset, written.log_end_offset)
        for partition, written in kafka_run.contents.items()
    }
    assert kafka_run.watermarks == wanted
    assert wanted[TopicPartition("trimmed", 0)][0] > 0


def test_offsets_are_found_by_time(version: str, kafka_run: KafkaRun) -> None:
    """Kafka goes by our time indexes here, and finds what we find.

    Of a segment that compaction has emptied it takes the file's time for the records', and
    then finds nothing at all, also in its own logs: such logs are left out.
    """
    for partition, found in kafka_run.offsets_by_time.items():
        logs = sorted((kafka_run.ours / str(partition)).glob("*.log"))
        if any(log.stat().st_size == 0 for log in logs[:-1]):
            assert partition.topic == "compacted"
            continue
        start = kafka_run.contents[partition].log_start_offset
        log = open_log(kafka_run.ours / str(partition), start)
        ours = {time_ms: log.lookup.by_timestamp(time_ms) for time_ms in found}
        log.close_files()
        assert found == {
            time_ms: -1 if place is None else place.offset for time_ms, place in ours.items()
        }, partition
    looked_up = {
        offset for found in kafka_run.offsets_by_time.values() for offset in found.values()
    }
    assert len(looked_up) > 5


def test_kafka_goes_on_writing_to_our_logs(version: str, kafka_run: KafkaRun) -> None:
    """Its record comes right behind ours, and we open and read what it then left."""
    assert kafka_run.appended == {
        partition: written.log_end_offset for partition, written in kafka_run.contents.items()
    }
    for partition, written in kafka_run.contents.items():
        directory = kafka_run.phases[1] / str(partition)
        log = open_log(directory, written.log_start_offset)
        assert log.load_report.notes == []
        assert log.log_end_offset == written.log_end_offset + 1
        log.close_files()
        *_, (last, _) = batches(directory)
        (record,) = decode_all(last)
        assert (record.offset, record.key) == (written.log_end_offset, LAST_KEY)


def open_log(directory: Path, log_start_offset: int) -> Log:
    return Log.open(
        str(directory), directory.name, LogConfig(), NOW_MS, log_start_offset=log_start_offset
    )


@pytest.mark.parametrize("phase", range(PHASES))
def test_verify_finds_nothing_in_what_kafka_leaves(
    version: str, phase: int, kafka_run: KafkaRun
) -> None:
    """Its own logs and internal topics, and ours that it has gone on with."""
    check = DirectoryCheck(kafka_run.phases[phase], shallow=False)
    assert list(check.run()) == []
    assert check.counts()["batches"] > 200
