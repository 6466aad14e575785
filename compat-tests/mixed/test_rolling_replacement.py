"""All brokers of Apache Kafka's are replaced by ours under load, and one is given back.

Each new one has the id and the data directory of the one before. The whole way back, and with
`kill -9`: `scripts/mixed-cluster`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster.nodes import EXPECTED_ERRORS
from cluster.run import Plan, run

from mixed.ground import KAFKA, OFFICE_TAKEN, OURS, Ground, long, mixed_ground, until
from mixed.load import Load, Reading

TWO_REPLICAS = {
    "default.replication.factor": "2",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.replication.factor": "2",
}
ROUNDS = ((1, OURS), (2, OURS), (3, OURS), (1, KAFKA))


@pytest.mark.timeout(900)
@pytest.mark.broker_says(*EXPECTED_ERRORS, OFFICE_TAKEN, always=False)
def test_nothing_is_lost_while_brokers_are_replaced(tmp_path: Path) -> None:
    result = run(Plan((KAFKA,) * 3, rate=30, rolls=ROUNDS), tmp_path)
    assert result.is_good, str(result)
    assert result.exits == {}, "no broker ended by itself"
    assert result.compared["by_segments"] + result.compared["by_batches"] == 24


@long
@pytest.mark.broker_says(OFFICE_TAKEN, always=False)
def test_partitions_move_to_brokers_of_new_ids_and_the_old_ones_go(tmp_path: Path) -> None:
    """Two of Kafka's (1 and 2) leave the cluster to two of ours (3 and 4), and come back."""
    kafkas, ours = [1, 2], [3, 4]
    with mixed_ground((KAFKA, KAFKA, OURS, OURS), tmp_path, TWO_REPLICAS) as ground:
        topic = ground.create([1, 2], [2, 1])
        with Load(ground, topic, 2) as load, Reading(ground, topic) as reading:
            load.wait_for_more()
            until(lambda: len(reading.offsets) == 2, "the group commits nothing")
            for leaving, staying in ((kafkas, ours), (ours, kafkas)):
                move_all(ground, staying)
                for broker in leaving:
                    assert ground.node(broker).stop()
                load.wait_for_more(100)
                until(lambda: ground.registry.controller > 0, "nobody is controller")
                assert ground.registry.controller in staying
                assert ground.registry.brokers == set(staying)
                for broker in leaving:
                    assert not list(ground.node(broker).data.glob("*-[0-9]"))
                    ground.node(broker).start()
                until(ground.know_each_other, "they do not know each other")
        load.check()
        until(lambda: reading.has_read(load.acked), "the group has not read all of it")
        reading.close()
        ground.stop_and_compare()


def move_all(ground: Ground, brokers: list[int]) -> None:
    """Everything there is; until it is there, and gone where it was."""
    names = sorted(ground.registry.topics)
    text = ",".join(map(str, brokers))
    ground.barnabas("topics", "reassign", *names, "--brokers", text, "--yes")
    for name in names:
        for partition, replicas in ground.registry.assignment(name).items():
            assert sorted(replicas) == brokers
            ground.wait_for_isr(name, brokers, partition)
