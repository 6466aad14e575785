"""`barnabas.Broker` in a thread and in a process: one behaviour, told by the same tests."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.server.core.startup import StartFailed
from barnabas.server.settings.names import ConfigError
from barnabas.server.testing.faults import AddedFault
from barnabas.server.testing.predicates import PredicateFailed
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.schema import Message
from tests.server.raw_client import RawClient

in_both = pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])


@pytest.fixture(scope="module", params=[False, True], ids=["thread", "process"])
def shared(request: pytest.FixtureRequest) -> Iterator[barnabas.Broker]:
    """One of each kind for the whole file."""
    with barnabas.Broker({"num.partitions": 2}, process=request.param) as made:
        yield made


@pytest.fixture
def broker(shared: barnabas.Broker) -> Iterator[barnabas.Broker]:
    """It, emptied behind the test."""
    shared.requests.clear()
    yield shared
    shared.clear()


@pytest.fixture
def client(broker: barnabas.Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as made:
        yield made


def topics_of(broker: barnabas.Broker) -> dict[str, int]:
    """Every topic's number of partitions, as a client learns it."""
    with RawClient(broker.port, "looks") as client:
        response = client.call(MetadataRequest(topics=None), 9)
        return {topic.name: len(topic.partitions) for topic in response.topics}


def test_topics_are_made_and_cleared(broker: barnabas.Broker) -> None:
    assert broker.create_topic("a", 3, {"retention.ms": 5}) == "a"
    assert topics_of(broker) == {"a": 3}
    broker.clear()
    assert topics_of(broker) == {}
    with pytest.raises(ValueError, match=r"^create_topic: .*'..' is not allowed"):
        broker.create_topic("..")


def test_topics_that_a_client_deletes_meanwhile_are_cleared_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with barnabas.Broker() as broker:
        for name in ("a", "b"):
            broker.create_topic(name)
        topics = broker.server.topics
        mark = topics.mark_for_deletion

        async def mark_with_a_client(name: str, *args: Any) -> None:
            await mark(name, *args)
            if name == "a":
                await mark("b")
                assert await topics.wait_until_deleted("b", 10_000)

        monkeypatch.setattr(topics, "mark_for_deletion", mark_with_a_client)
        broker.clear()
        assert topics_of(broker) == {}


def test_a_fault_hits_and_counts_until_it_is_removed(
    broker: barnabas.Broker, client: RawClient
) -> None:
    fault = broker.faults.add("error", api="METADATA", error="LEADER_NOT_AVAILABLE", skip=1)
    codes = []
    for _ in range(3):
        answer = client.call(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9)
        codes.append(bool(answer.brokers))
    assert codes == [True, False, True]
    assert (fault.seen, fault.hits) == (3, 1)
    assert [each.number for each in broker.faults] == [fault.number]
    broker.faults.remove(fault)
    assert len(broker.faults) == 0
    assert fault.hits == 1


def test_faults_take_kafkas_names_and_numbers(broker: barnabas.Broker, client: RawClient) -> None:
    broker.faults.add(
        "error", api=ApiKey.FIND_COORDINATOR, error=ErrorCode.NOT_COORDINATOR, times=None
    )
    for _ in range(2):
        answer = client.call(FindCoordinatorRequest(key="g"), 2)
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
    broker.faults.clear()
    assert client.call(FindCoordinatorRequest(key="g"), 2).error_code != ErrorCode.NOT_COORDINATOR


def test_a_closed_connection_and_a_slow_answer(broker: barnabas.Broker, client: RawClient) -> None:
    slow = broker.faults.add("delay", api="API_VERSIONS", delay_ms=60_000)
    client.send(ApiVersionsRequest(), 2)
    while not slow.hits:
        pass
    broker.clock.advance("1 minute")
    assert client.receive().error_code == 0
    broker.faults.add("close", api="API_VERSIONS", client_id="raw")
    client.send(ApiVersionsRequest(), 2)
    assert client.is_closed()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"action": "explode"}, "`action` is 'explode', not one of none, error"),
        ({"api": "PRODUCED"}, "`api` is 'PRODUCED', not the name of an API"),
        ({"action": "error", "error": "OOPS"}, "`error` is 'OOPS', not the name of an error"),
        ({"action": "error", "times": 0}, "`times` is 0, not a whole number from 1"),
        ({"action": "close", "delay_ms": 5}, "`delay_ms` goes with the action delay, not with cl"),
        ({"skip": -1}, "`skip` is -1, not a whole number from 0"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(
    arguments: dict[str, object], sentence: str, broker: barnabas.Broker
) -> None:
    with pytest.raises(ValueError, match=f"^faults.add: {sentence}"):
        broker.faults.add(**arguments)  # type: ignore[arg-type]  # that is the point
    assert len(broker.faults) == 0


def test_time_passes_when_told(broker: barnabas.Broker) -> None:
    before_ms = broker.clock.now_ms()
    broker.clock.advance("7 days")
    broker.clock.advance(1_500)
    assert 0 <= broker.clock.now_ms() - before_ms - 7 * 86_400_000 - 1_500 < 60_000
    for wrong in ("a fortnight", -1):
        with pytest.raises(ValueError, match=r"^clock.advance: "):
            broker.clock.advance(wrong)


def test_requests_are_seen_decoded(broker: barnabas.Broker, client: RawClient) -> None:
    client.call(MetadataRequest(topics=None), 9)
    client.call(FindCoordinatorRequest(key="g"), 2)
    seen = broker.requests.of("METADATA", client_id="raw")
    assert [(each.api, each.version, each.client_id) for each in seen] == [
        (ApiKey.METADATA, 9, "raw")
    ]
    assert isinstance(seen[0].request, MetadataRequest)
    assert seen[0].response is not None
    assert [each.api.name for each in broker.requests] == ["METADATA", "FIND_COORDINATOR"]
    assert len(broker.requests) == 2
    assert broker.requests.of(ApiKey.METADATA, client_id="nobody") == []
    broker.requests.clear()
    assert list(broker.requests) == []


def test_requests_are_waited_for(broker: barnabas.Broker, client: RawClient) -> None:
    later = threading.Timer(0.05, client.call, (MetadataRequest(topics=None), 9))
    later.start()
    assert len(broker.requests.wait_for("METADATA")) == 1
    later.join()
    with pytest.raises(TimeoutError, match=r"^1 request of METADATA in 0.05 s, not 2"):
        broker.requests.wait_for("METADATA", count=2, timeout_s=0.05)
    with pytest.raises(ValueError, match=r"requests.wait_for: `timeout_s` is -1, not"):
        broker.requests.wait_for("METADATA", timeout_s=-1)
    with pytest.raises(ValueError, match=r"^requests.wait_for: `api` is 'NOPE'"):
        broker.requests.wait_for("NOPE")


def test_faults_and_requests_outlive_stops_and_crashes(broker: barnabas.Broker) -> None:
    broker.create_topic("kept")
    port = broker.port
    fault = broker.faults.add(api="METADATA", times=None)
    broker.restart()
    broker.kill()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with pytest.raises(RuntimeError, match="the broker is not running"):
        broker.clock.now_ms()
    broker.start()
    assert broker.port == port
    assert topics_of(broker) == {"kept": 1}
    assert fault.hits == len(broker.requests.of("METADATA")) == 1


def test_a_snapshot_is_a_place_to_go_back_to(broker: barnabas.Broker, tmp_path: Path) -> None:
    broker.create_topic("a")
    broker.snapshot(tmp_path / "s")
    broker.create_topic("b")
    broker.restore(tmp_path / "s")
    assert topics_of(broker) == {"a": 1}
    with pytest.raises(ValueError, match="exists; a snapshot goes into a new folder"):
        broker.snapshot(tmp_path / "s")
    with pytest.raises(ValueError, match="there is no snapshot in"):
        broker.restore(tmp_path)
    assert topics_of(broker) == {"a": 1}


def test_another_kafka(broker: barnabas.Broker) -> None:
    def newest_fetch() -> int:
        with RawClient(broker.port) as client:
            answer = client.call(ApiVersionsRequest(), 2)
            return next(int(a.max_version) for a in answer.api_keys if a.api_key == ApiKey.FETCH)

    own = newest_fetch()
    broker.pose_as("2.8")
    assert newest_fetch() == 12
    for wrong, sentence in {"x": "must be a version", "9.9": "is newer than"}.items():
        with pytest.raises(ValueError, match=f"^pose_as: settings: .*={wrong}: {sentence}"):
            broker.pose_as(wrong)
    assert newest_fetch() == 12
    broker.pose_as("")
    assert newest_fetch() == own > 12


def test_commands_can_be_given_as_over_http(broker: barnabas.Broker) -> None:
    state = broker.ask("GET", "/control/broker")
    assert state["bootstrap_servers"] == broker.bootstrap_servers
    assert state["data_dir"] == str(broker.data_dir)
    with pytest.raises(LookupError, match="nothing at /control/cluck"):
        broker.ask("POST", "/control/cluck")
    with pytest.raises(LookupError, match="/control/clock takes GET"):
        broker.ask("POST", "/control/clock")
    with pytest.raises(ValueError, match="unknown field `hours`; it takes duration"):
        broker.ask("POST", "/control/clock/advance", hours=1)


@in_both
def test_a_start_that_fails_says_the_same_and_leaves_nothing(
    process: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartFailed) as failure:
            barnabas.Broker(port=port, process=process).start()
    assert str(failure.value) == (
        f"cannot listen on 127.0.0.1:{port}: Address already in use; "
        "set `listeners` to a free address"
    )
    with pytest.raises(ConfigError, match=r"^settings: num.partitions=none: Not a number"):
        barnabas.Broker({"num.partitions": "none"}, process=process).start()
    assert list(tmp_path.iterdir()) == []


@in_both
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_port_is_given_to_nobody_else_while_its_broker_is_down(process: bool, end: str) -> None:
    with barnabas.Broker(process=process) as broker:
        place = ("127.0.0.1", broker.port)
        broker.ask("POST", f"/control/broker/{end}")
        with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
            other.bind(place)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)
        broker.start()
        assert topics_of(broker) == {}


@in_both
def test_nothing_is_left_and_counts_can_still_be_read(
    process: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with barnabas.Broker(process=process) as broker:
        port = broker.port
        fault = broker.faults.add(api="METADATA")
        assert topics_of(broker) == {}
        assert [each.name for each in tmp_path.iterdir()] == [broker.data_dir.name]
    assert fault.hits == 1
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with pytest.raises(RuntimeError, match="the broker is not running"):
        broker.clock.now_ms()
    broker.stop()


@in_both
def test_a_data_directory_of_the_tests_own_stays(process: bool, tmp_path: Path) -> None:
    made = barnabas.Broker(data_dir=tmp_path / "data", process=process)
    with made as broker:
        broker.create_topic("kept")
    with made as broker:
        assert topics_of(broker) == {"kept": 1}


def test_predicates_are_for_brokers_in_this_process(broker: barnabas.Broker) -> None:
    def asks_for_group_h(request: Message) -> bool:
        return isinstance(request, FindCoordinatorRequest) and request.key == "h"

    if broker.process:
        with pytest.raises(ValueError, match="a predicate cannot be sent"):
            broker.faults.add(predicate=asks_for_group_h)
        return
    fault = broker.faults.add(predicate=asks_for_group_h, times=None)
    with RawClient(broker.port) as client:
        for group in "gh":
            client.call(FindCoordinatorRequest(key=group), 2)
    assert fault.hits == 1


def test_what_a_predicate_raises_is_raised_by_whatever_looks_at_faults() -> None:
    def breaks(request: Message) -> bool:
        raise LookupError("here")

    with barnabas.Broker() as broker:

        def asked() -> AddedFault:
            fault = broker.faults.add("drop", predicate=breaks)
            with RawClient(broker.port) as client:
                assert client.call(FindCoordinatorRequest(key="g"), 2) is not None
                client.call(FindCoordinatorRequest(key="g"), 2)
            return fault

        looks: list[Callable[[AddedFault], object]] = [
            lambda fault: fault.hits, lambda fault: fault.seen, lambda fault: fault.remove(),
            lambda _: broker.faults.clear(), lambda _: broker.faults.check(),
            lambda _: broker.clear(),
        ]  # fmt: skip
        for look in looks:
            broker.faults.clear()
            fault = asked()
            with pytest.raises(
                PredicateFailed, match=r"LookupError\('here'\) of a Find\w+, and 1 m"
            ):
                look(fault)
            broker.faults.check()
        asked()
        with pytest.raises(PredicateFailed):
            broker.stop()
    with pytest.raises(ZeroDivisionError), broker:  # what the test itself has raised is enough
        asked()
        raise ZeroDivisionError


def test_what_things_are_is_seen(broker: barnabas.Broker, client: RawClient) -> None:
    kind = "in a process" if broker.process else "in a thread"
    shown = f"<Broker {kind} on {broker.bootstrap_servers}, running>"
    assert repr(broker) == shown
    assert repr(broker.clock) == f"<the clock of {shown}>"
    assert repr(broker.faults) == "<faults: none>"
    fault = broker.faults.add(
        "error", api="METADATA", error="LEADER_NOT_AVAILABLE", topic="t", partition=0
    )
    assert repr(fault) == (
        f"<fault {fault.number}: error LEADER_NOT_AVAILABLE to METADATA, topic t, partition 0;"
        " 0 of 0 hit>"
    )
    every = broker.faults.add(times=None)
    client.call(FindCoordinatorRequest(key="g"), 2)
    assert repr(every) == f"<fault {every.number}: none to every request; 1 of 1 hit>"
    assert repr(broker.faults) == f"<faults: {fault!r}, {every!r}>"
    broker.kill()
    assert repr(broker) == shown.replace("running", "stopped")
    broker.start()


@in_both
def test_a_broker_that_has_not_begun_or_has_ended_is_seen_as_such(process: bool) -> None:
    broker = barnabas.Broker(process=process)
    assert repr(broker).endswith(", not started>")
    with broker:
        fault = broker.faults.add()
    assert repr(broker).endswith(", stopped>")
    assert f"<fault {fault.number}: none to every request; 0 of 0 hit>" == repr(fault)


def test_only_a_thread_shows_the_broker_itself(broker: barnabas.Broker) -> None:
    if broker.process:
        for ask in (lambda: broker.server, lambda: broker.call(int)):
            with pytest.raises(RuntimeError, match="the broker is in another process"):
                ask()
        assert broker.control_url.startswith("http://127.0.0.1:")
    else:
        assert broker.call(lambda: broker.server.broker_id) == 0
        with pytest.raises(
            RuntimeError, match=r'the settings have {"barnabas\.http\.control": True'
        ):
            broker.control_url  # noqa: B018  # a property that refuses


def test_before_the_first_start_there_is_no_broker() -> None:
    broker = barnabas.Broker()
    for ask in (lambda: broker.port, lambda: broker.data_dir, broker.restart):
        with pytest.raises(RuntimeError, match="the broker has not been started"):
            ask()
    broker.stop()
    broker.kill()


@in_both
@pytest.mark.parametrize(
    ("listener", "host"),
    [("", "127.0.0.1"), ("127.0.0.2", "127.0.0.2"), ("[::1]", "[::1]")],
)
def test_bootstrap_servers_is_where_the_first_listener_is(
    process: bool, listener: str, host: str
) -> None:
    settings = {
        "listeners": f"FIRST://{listener}:0,SECOND://127.0.0.1:0",
        "listener.security.protocol.map": "FIRST:PLAINTEXT,SECOND:PLAINTEXT",
        "inter.broker.listener.name": "SECOND",
    }
    with barnabas.Broker(settings, process=process) as broker:
        assert broker.bootstrap_servers == f"{host}:{broker.port}"
        socket.create_connection((host.strip("[]"), broker.port), 30).close()
        assert broker.ask("GET", "/control/broker")["bootstrap_servers"] == broker.bootstrap_servers
        before = broker.bootstrap_servers
        broker.restart()
        assert broker.bootstrap_servers == before


def test_a_host_of_ipv6_goes_into_brackets() -> None:
    with barnabas.Broker(host="::1") as broker:
        assert broker.bootstrap_servers == f"[::1]:{broker.port}"
