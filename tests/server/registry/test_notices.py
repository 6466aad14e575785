"""Bodies of short-lived znodes, byte for byte as Kafka and its tools wrote them."""

import pytest

from barnabas.server.registry import notices
from barnabas.server.registry.bodies import ProtocolVersion
from tests.server.registry import golden


@pytest.mark.parametrize("protocol", golden.PROTOCOLS, ids=str)
def test_notifications_and_tool_input(protocol: ProtocolVersion) -> None:
    seen = set()
    for row in golden.requests(protocol):
        path, data = row.get("path", ""), (row.get("data") or "").encode()
        if row["op"] == "create" and path.startswith("/isr_change_notification/"):
            assert notices.encode_partitions(notices.decode_partitions(data)) == data
            seen.add("isr")
        elif row["op"] == "create" and path.startswith("/log_dir_event_notification/"):
            assert notices.encode_log_dir_event(notices.decode_log_dir_event(data)) == data
            seen.add("log_dir")
    assert seen == ({"isr", "log_dir"} if protocol < (2, 7) else {"log_dir"})


def test_tool_input() -> None:
    targets = {("t1", 0): [2, 3], ("a", 1): [1]}
    data = (
        b'{"version":1,"partitions":[{"topic":"t1","partition":0,"replicas":[2,3]},'
        b'{"topic":"a","partition":1,"replicas":[1]}]}'
    )
    assert notices.encode_reassignment(targets) == data
    assert notices.decode_reassignment(data) == targets
    election = b'{"version":1,"partitions":[{"topic":"t1","partition":1}]}'
    assert notices.encode_partitions([("t1", 1)]) == election
