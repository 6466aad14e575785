"""Which logs a broker should not have, and what becomes of them at its start."""

from pathlib import Path

from barnabas.server.cluster.strays import replica_counter
from barnabas.server.registry.bodies import TopicAssignment
from barnabas.server.testing.broker import Broker
from barnabas.storage.directory_names import TopicPartition
from barnabas.wire.uuids import Uuid
from tests.server.raw_client import RawClient
from tests.server.records import data_of, make_batch, produce, read

NEW, OLD = Uuid(b"N" * 16), Uuid(b"O" * 16)
HERE, ELSEWHERE = 1, 2


def test_a_log_is_a_stray_unless_an_assignment_names_it_by_name_and_id() -> None:
    replicas = {0: [HERE, ELSEWHERE], 1: [ELSEWHERE]}
    replicas_of = replica_counter({"t": TopicAssignment(replicas, NEW)}, HERE)
    assert replicas_of(TopicPartition("t", 0), NEW) == 2
    assert replicas_of(TopicPartition("t", 0), None) == 2
    assert replicas_of(TopicPartition("t", 0), OLD) == 0
    assert replicas_of(TopicPartition("t", 1), NEW) == 0
    assert replicas_of(TopicPartition("t", 2), NEW) == 0
    assert replicas_of(TopicPartition("other", 0), NEW) == 0


def test_a_topic_from_before_topic_ids_takes_any_log_of_its_name() -> None:
    replicas_of = replica_counter({"t": TopicAssignment({0: [HERE]})}, HERE)
    assert replicas_of(TopicPartition("t", 0), OLD) == 1


def test_a_deleted_log_that_a_power_cut_brings_back_is_in_nobodys_way(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        broker.create_topic("t")
        with RawClient(broker.port) as client:
            produce(client, "t", make_batch(b"old"))
        broker.clear()
        broker.create_topic("t")
        broker.kill()
        (deleted,) = tmp_path.glob("t-0.*-delete")
        (tmp_path / "t-0").rename(tmp_path / "lost")  # the new one was not on the disk yet
        deleted.rename(tmp_path / "t-0")
        broker.start()
        with RawClient(broker.port) as client:
            assert produce(client, "t", make_batch(b"new")).error_code == 0
            data = data_of(read(client, "t"))
        assert b"new" in data and b"old" not in data
        assert list(tmp_path.glob("t-0.*-stray"))
