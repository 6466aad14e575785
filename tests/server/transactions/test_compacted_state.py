"""What coordinators know is the same before and after compaction and loading."""

from pathlib import Path
from typing import Any

import pytest

from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.header import walk
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.server.group_requests import commit as commit_plainly
from tests.server.group_requests import fetch_request
from tests.server.handlers.test_txn_offset_commit import commit
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import V1, V2, Transactional, find_coordinator
from tests.server.waiting import wait_until

SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "offsets.topic.segment.bytes": 4_000,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.segment.bytes": 4_000,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "log.cleaner.backoff.ms": 50,
}
IDS, GROUPS = 60, 12
State = dict[str, Any]


def is_compacted(directory: Path, topic: str) -> bool:
    """Whether most of what was written to a topic's only partition has gone."""
    closed = sorted(directory.glob(f"{topic}-0/*.log"))[:-1]
    try:
        headers = [header for path in closed for header in walk(path.read_bytes())]
    except FileNotFoundError:  # it is being replaced
        return False
    kept = sum(header.record_count for header in headers)
    return bool(headers) and kept < headers[-1].next_offset // 2


def state_of(client: RawClient) -> State:
    """All that clients are told of transactional ids, and of groups' offsets, stable or not."""
    request = DescribeTransactionsRequest(transactional_ids=[f"t{n}" for n in range(IDS)])
    known: State = {
        each.transactional_id: (
            each.error_code, each.transaction_state, each.producer_id, each.producer_epoch,
            each.transaction_timeout_ms, each.transaction_start_time_ms,
            [(topic.topic, topic.partitions) for topic in each.topics],
        )
        for each in client.call(request, 0).transaction_states
    }  # fmt: skip
    for number in range(GROUPS):
        for is_stable in (False, True):
            fetched = fetch_request(f"g{number}", 7, "orders", 0, 1)
            fetched.require_stable = is_stable
            answer = client.call(fetched, 7)
            known[f"g{number} {is_stable}"] = [
                (each.error_code, each.committed_offset, each.metadata)
                for topic in answer.topics  # none while the group is being loaded
                for each in topic.partitions
            ]
    return known


def move(client: RawClient, number: int, round_: int) -> None:
    """One transaction with offsets: committed or aborted; the last ones are left open."""
    producer = Transactional(client, f"t{number}", V2 if number % 2 else V1).begin()
    group = f"g{number % GROUPS}"
    if producer.protocol == V1:
        assert producer.add_offsets(group) == ErrorCode.NONE
    codes = commit(
        client, producer, group, "orders", 100 * round_ + number, 7,
        version=5 if producer.protocol == V2 else 3, text=f"{round_} {number}",
    )  # fmt: skip
    assert set(codes) == {ErrorCode.NONE}
    if number % 5 == 0:
        commit_plainly(client, group, "orders", 5_000 + number)
    if round_ < 2 or number < IDS - 9:
        assert producer.end(commit=number % 3 != 0) == ErrorCode.NONE
        wait_until(lambda: producer.state.startswith("Complete"))


@pytest.mark.parametrize("dies", [False, True])
def test_it_is_the_same(tmp_path: Path, dies: bool) -> None:
    with Broker(SETTINGS, data_dir=tmp_path) as broker:
        broker.create_topic("orders", 2)
        with RawClient(broker.port) as client:
            find_coordinator(client, "t0")
            for round_ in range(3):
                for number in range(IDS):
                    move(client, number, round_)
            before = state_of(client)
        states = {each[1] for name, each in before.items() if name[0] == "t"}
        assert states == {"Ongoing", "CompleteCommit", "CompleteAbort"}
        for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
            wait_until(lambda topic=topic: is_compacted(tmp_path, topic))  # type: ignore[misc]
        broker.kill() if dies else broker.ask("POST", "/control/broker/stop")
        broker.start()
        with RawClient(broker.port) as client:
            wait_until(lambda: state_of(client) == before)
            for number in range(IDS):  # and everything can go on from there
                assert Transactional(client, f"t{number}").begin().id.epoch > 0
