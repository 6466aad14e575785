"""The writers of `replay` against a broker, without Spark: repeated, beside one another, killed."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin, unique_name
from confluent_kafka import Producer
from own_broker import OwnBroker
from replay_parts import Content, read_back

from barnabas.pipeline.replay.idempotent import IdempotentWriter
from barnabas.pipeline.replay.plan import EXACTLY_ONCE, IDEMPOTENT, Part, Plan
from barnabas.pipeline.replay.progress import Progress
from barnabas.pipeline.replay.rows import Row
from barnabas.pipeline.replay.transactional import Reports, TakenOver, TransactionalWriter
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.python_client import Settings

ROWS = [
    Row(0, 2 * n, 1_700_000_000_000 + n, b"k%d" % n, b"v%d" % n, [("n", b"%d" % n)])
    for n in range(1000)
]
WANTED = [[Content(r.timestamp_ms, r.key, r.value, (("n", r.value[1:]),)) for r in ROWS if r.value]]


@pytest.fixture
def settings(broker_address: str) -> Settings:
    return {"bootstrap.servers": broker_address, "log_level": 0}


def planned(target: str, mode: str, base: int = 0) -> Plan:
    """A replay of ROWS to partition 0 of a topic."""
    part = Part("t", "id", 0, target, "", len(ROWS), ROWS[0].offset, ROWS[-1].offset, base)
    return Plan(unique_name("r"), mode, "", {}, (part,))


def begun(settings: Settings, target: str) -> Plan:
    """A plan whose beginning is committed."""
    plan = planned(target, EXACTLY_ONCE)
    progress = Progress(settings, plan)
    assert progress.next_offsets(plan.parts) == [None]
    progress.begin(plan.parts)
    assert progress.next_offsets(plan.parts) == [0]
    progress.close()
    return plan


def test_a_task_that_runs_again_writes_what_the_first_one_did_not(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    topic = broker_admin.create_topic("replay-again")
    plan = begun(settings, topic)
    first = TransactionalWriter(settings, plan, plan.parts[0])
    assert first.write(ROWS[:300]) == 300
    first.close()
    again = TransactionalWriter(settings, plan, plan.parts[0])
    assert again.next_offset == ROWS[300].offset - 1
    assert again.write(ROWS[200:600]) == 300
    assert again.write(ROWS[:600]) == 0
    assert again.write(ROWS) == 400
    again.close()
    assert read_back(broker_address, topic, 1) == WANTED


def test_a_writer_that_was_thought_dead_is_fenced_and_doubles_nothing(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    """As with a speculative task: two have the same part at the same time."""
    topic = broker_admin.create_topic("replay-zombie")
    plan = begun(settings, topic)
    zombie = TransactionalWriter(settings, plan, plan.parts[0])
    zombie.write(ROWS[:100])
    other = TransactionalWriter(settings, plan, plan.parts[0])
    with pytest.raises(TakenOver):
        zombie.write(ROWS[100:200])
    zombie.close()
    other.write(ROWS)
    other.close()
    assert read_back(broker_address, topic, 1) == WANTED


def test_writers_that_take_over_from_one_another_all_the_time_double_nothing(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    topic = broker_admin.create_topic("replay-turns")
    plan = begun(settings, topic)
    ended = threading.Event()

    def write_until_the_end() -> None:
        while not ended.is_set():
            try:
                writer = TransactionalWriter(settings, plan, plan.parts[0])
                for at in range(0, len(ROWS), 50):
                    writer.write(ROWS[at : at + 50])
                ended.set()
            except TakenOver:
                continue

    threads = [threading.Thread(target=write_until_the_end) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert read_back(broker_address, topic, 1) == WANTED


def test_what_another_one_left_open_is_aborted_and_not_counted(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    """A kill between the records and the commit."""
    topic = broker_admin.create_topic("replay-open")
    plan = begun(settings, topic)
    killed = Producer(settings | {"transactional.id": f"{plan.group}-{topic}-0"})
    killed.init_transactions(30)
    killed.begin_transaction()
    killed.produce(topic, b"never", partition=0)
    killed.flush(30)
    writer = TransactionalWriter(settings, plan, plan.parts[0])
    assert writer.next_offset == 0
    writer.write(ROWS)
    writer.close()
    assert read_back(broker_address, topic, 1) == WANTED


def test_a_replay_that_is_begun_again_is_not_set_back(
    settings: Settings, broker_admin: BrokerAdmin
) -> None:
    """Two drivers of one replay, of which one is late: it commits nothing over what there is."""
    plan = begun(settings, broker_admin.create_topic("replay-begun"))
    writer = TransactionalWriter(settings, plan, plan.parts[0])
    writer.write(ROWS[:10])
    late = Progress(settings, plan)
    late.begin(plan.parts)
    assert late.next_offsets(plan.parts) == [ROWS[9].offset + 1]
    late.close()
    assert writer.write(ROWS[:20]) == 10
    writer.close()


def test_progress_that_the_cluster_forgot_ends_it(
    settings: Settings, broker_admin: BrokerAdmin
) -> None:
    plan = planned(broker_admin.create_topic("replay-forgotten"), EXACTLY_ONCE)
    with pytest.raises(PipelineError, match="has forgotten how far the replay had come"):
        TransactionalWriter(settings, plan, plan.parts[0])


def test_a_record_that_the_target_does_not_take_is_said_and_nothing_is_left_open(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    topic = broker_admin.create_topic("replay-large", config={"max.message.bytes": "10000"})
    plan = begun(settings, topic)
    writer = TransactionalWriter(settings | {"batch.size": 500}, plan, plan.parts[0])
    large = Row(0, 999, 0, None, b"x" * 20_000, None)
    with pytest.raises(PipelineError, match=r"raise max\.message\.bytes"):
        writer.write([*ROWS[:400], large])
    assert broker_admin.end_offset(topic) > 0  # the batches before it were written
    assert broker_admin.last_stable_offset(topic) == broker_admin.end_offset(topic)
    writer.close()
    assert read_back(broker_address, topic, 1) == [[]]


@pytest.mark.parametrize("at", [0, 400])
def test_without_transactions_a_task_goes_on_where_the_target_ends(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str, at: int
) -> None:
    topic = broker_admin.create_topic("replay-idempotent")
    plan = planned(topic, IDEMPOTENT)
    if at:
        first = IdempotentWriter(settings, plan, plan.parts[0])
        first.write(ROWS[:at])
        first.finish()
        first.close()
    second = IdempotentWriter(settings, plan, plan.parts[0])
    assert [second.write(ROWS[:300]), second.write(ROWS[300:])] == [
        max(300 - at, 0),
        min(700, 1000 - at),
    ]
    second.finish()
    second.close()
    assert read_back(broker_address, topic, 1) == WANTED


def test_without_transactions_another_writer_is_noticed(
    settings: Settings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("replay-not-alone")
    plan = planned(topic, IDEMPOTENT)
    writer = IdempotentWriter(settings, plan, plan.parts[0])
    writer.write(ROWS[:100])
    writer.finish()
    other = Producer(settings)
    other.produce(topic, b"other", partition=0)
    assert other.flush(30) == 0
    writer.write(ROWS[100:200])
    with pytest.raises(PipelineError, match="somebody else writes to"):
        writer.finish()
    writer.close()


PROGRAM = """
import sys
from barnabas.pipeline.replay.plan import Plan
from barnabas.pipeline.replay.rows import Row
from barnabas.pipeline.replay.transactional import TransactionalWriter
plan = Plan.from_json(sys.stdin.read())
settings = {"bootstrap.servers": sys.argv[1], "log_level": 0}
writer = TransactionalWriter(settings, plan, plan.parts[0])
for at in range(0, 1000, 20):
    rows = range(at, at + 20)
    stamp = 1_700_000_000_000
    writer.write([
        Row(0, 2 * n, stamp + n, b"k%d" % n, b"v%d" % n, [("n", b"%d" % n)]) for n in rows
    ])
    print(at, flush=True)
writer.close()
"""


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[OwnBroker]:
    # As it would look for what is too old after half a minute, which a loaded machine takes.
    broker = OwnBroker(
        tmp_path, ["log.initial.task.delay.ms=100", "log.retention.check.interval.ms=100"]
    )
    yield broker
    broker.close()


def test_kills_of_the_writer_and_of_the_broker_lose_and_double_nothing(
    own_broker: OwnBroker,
) -> None:
    """The writer dies after so many transactions, or the broker does beneath it."""
    address = own_broker.address
    settings: Settings = {"bootstrap.servers": address, "log_level": 0}
    BrokerAdmin(address).create_topic_named("t")
    plan = begun(settings, "t")
    for transactions in (1, 7, 3, 11):
        with running(address, plan) as process:
            read_lines(process, transactions)
    with running(address, plan) as process:
        for _ in range(3):
            read_lines(process, 1)
            own_broker.kill()
            own_broker.start()
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert read_back(address, "t", 1) == WANTED


@contextmanager
def running(address: str, plan: Plan) -> Iterator[subprocess.Popen[str]]:
    """A writer in a process of its own, killed behind the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, address],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(plan.to_json())
    process.stdin.close()
    process.stdin = None
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_lines(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdout is not None
    for _ in range(count):
        process.stdout.readline()


class Slow(TransactionalWriter):
    """Takes longer for its second transaction than the coordinator lets it."""

    transactions = 0

    def _require_all_delivered(self, reports: Reports, count: int) -> None:
        super()._require_all_delivered(reports, count)
        self.transactions += 1
        if self.transactions == 2:
            end = self._progress.end_of(self._part)
            deadline = time.monotonic() + 60
            while self._progress.end_of(self._part) == end:  # until the marker of the abort
                assert time.monotonic() < deadline
                time.sleep(0.05)


def test_a_transaction_that_the_coordinator_ended_is_written_again(
    settings: Settings, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    """That looks like being fenced, and is not."""
    topic = broker_admin.create_topic("replay-slow")
    plan = begun(settings, topic)
    writer = Slow(settings | {"transaction.timeout.ms": 1000}, plan, plan.parts[0])
    for at in range(0, 1000, 250):
        writer.write(ROWS[at : at + 250])
    assert writer.transactions == 5
    writer.close()
    assert read_back(broker_address, topic, 1) == WANTED
