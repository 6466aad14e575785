"""The control over HTTP: statuses, sentences, and a port that outlives the broker."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import barnabas
from barnabas.server.broker import Broker as ServerBroker
from barnabas.server.core.startup import StartFailed
from barnabas.server.settings.config import load_config
from barnabas.server.settings.names import ConfigError
from barnabas.server.testing.commands import COMMANDS
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient

CONTROL = {"barnabas.http.port": 0, "barnabas.http.control": True}
JSON = "application/json"


@pytest.fixture(scope="module")
def broker() -> Iterator[barnabas.Broker]:
    """One for the file, in this process, with its control open."""
    with barnabas.Broker(CONTROL) as made:
        yield made


def ask(
    broker: barnabas.Broker, method: str, path: str, body: str = "", content_type: str = JSON
) -> tuple[int, Any]:
    """Status and JSON (else text) of one request."""
    address = broker.control_url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=20)
    try:
        connection.request(method, path, body or None, {"Content-Type": content_type})
        response = connection.getresponse()
        text = response.read().decode()
        is_json = response.headers["Content-Type"] == JSON
        return response.status, json.loads(text) if is_json else text
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("POST", "faults", '{"api"', 400, "the body is no JSON: Expecting ':' delimiter: line 1"),
        ("POST", "faults", "[]", 400, "the body must be a JSON object"),
        ("POST", "faults", "[" * 100_000, 400, "the body is nested too deep"),
        ("POST", "faults", '{"delay_ms": NaN}', 400, "NaN is no number of JSON"),
        ("POST", "faults", b"\xff\xfe".decode("latin-1"), 400, "the body is no JSON"),
        ("POST", "faults", '{"apis": "FETCH"}', 400, "unknown field `apis`; it takes action, api"),
        ("POST", "faults", '{"api": "F"}', 400, "`api` is 'F', not the name of an API"),
        ("POST", "faults", '{"predicate": "x"}', 400, "`predicate` is 'x', not a function, which"),
        ("POST", "clock/advance", "", 400, "`duration` is missing; it is a number"),
        ("POST", "clock/advance", '{"duration": "soon"}', 400, "'soon' is no duration"),
        ("POST", "clock/advance", '{"duration": 1e300}', 400, "a clock ends with the year 9999"),
        ("GET", "requests?api=FETCH&since=3", "", 400, "unknown field `since`; it takes api"),
        ("GET", "requests?count=x", "", 400, "`count` is 'x', not a whole number from 0"),
        ("GET", "faults/99", "", 404, "there never was a fault 99"),
        ("GET", "nothing", "", 404, "nothing at /control/nothing"),
        ("GET", f"faults/{'9' * 5000}", "", 404, "nothing at /control/faults/999"),
        ("GET", "faults/1/hits", "", 404, "nothing at /control/faults/1/hits"),
        ("DELETE", "clock", "", 405, "/control/clock takes GET"),
        ("GET", "requests?api=FETCH&count=1&timeout_ms=10", "", 504, "0 requests of FETCH in 0.01"),
        ("GET", "transactions?state=Gone", "", 400, "`state` is 'Gone', not one of Empty, Ongoin"),
        ("GET", "transactions?count=1&timeout_ms=10", "", 504, "0 transactions in 0.01 s, not 1"),
        ("GET", "transactions?id=x", "", 400, "unknown field `id`; it takes transactional_id"),
        ("POST", "transactions", "", 405, "/control/transactions takes GET"),
        ("POST", "snapshot", '{"directory": "here"}', 400, "`directory` is 'here', not an absolut"),
        ("POST", "restore", '{"directory": "/nowhere"}', 400, "there is no snapshot in /nowhere"),
        ("POST", "pose", '{"release": "new"}', 400, "barnabas.pose.as=new: must be a version"),
        ("POST", "topics", '{"name": "t", "partitions": 0}', 400, "`partitions` is 0, not a who"),
        ("POST", "topics", '{"name": "t", "partitions": 10001}', 400, "POLICY_VIOLATION: Excess"),
        ("POST", "topics", f'{{"name": "t", "partitions": {2**70}}}', 400, "POLICY_VIOLATION"),
    ],
)
def test_what_makes_no_sense_is_refused(
    method: str, path: str, body: str, status: int, sentence: str, broker: barnabas.Broker
) -> None:
    got, answer = ask(broker, method, f"/control/{path}", body)
    assert got == status
    assert list(answer) == ["error"]
    assert sentence in answer["error"]
    assert "\n" not in answer["error"]
    assert broker.ask("GET", "/control/broker")["running"]


def test_a_web_page_cannot_give_commands(broker: barnabas.Broker) -> None:
    # A page may post text or a form to any port without asking; only JSON needs permission.
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        status, answer = ask(broker, "POST", "/control/faults", "{}", content_type)
        assert status == 415
        assert answer == {"error": "POST /control/faults: send the body as application/json"}
    status, _ = ask(broker, "POST", "/control/faults", "{}", "application/json; charset=utf-8")
    assert status == 200
    assert len(broker.faults) == 1
    broker.faults.clear()


@pytest.mark.parametrize("command", ["stop", "kill", "restart", "start"])
def test_nor_stop_the_broker(command: str, broker: barnabas.Broker) -> None:
    # Without a body too: that is how a form of no fields is posted.
    path = f"/control/broker/{command}"
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        status, _ = ask(broker, "POST", path, "", content_type)
        assert status == 415
    assert broker.ask("GET", "/control/broker")["running"]


def test_the_port_outlives_the_broker(broker: barnabas.Broker) -> None:
    for path in ("/health", "/healthz", "/readyz"):
        assert ask(broker, "GET", path)[1]["status"] == "ok"
    assert ask(broker, "POST", "/control/broker/stop")[1]["running"] is False
    for path in ("/health", "/healthz", "/readyz"):
        assert ask(broker, "GET", path) == (503, {"status": "stopped"})
    assert ask(broker, "GET", "/livez") == (200, {"status": "alive"})
    assert ask(broker, "GET", "/metrics") == (503, "the broker is stopped\n")
    status, answer = ask(broker, "GET", "/control/clock")
    assert (status, answer) == (409, {"error": "the broker is not running"})
    assert ask(broker, "POST", "/control/broker/start")[1]["running"] is True
    assert "kafka_server_replicamanager_partitioncount" in ask(broker, "GET", "/metrics")[1]
    with RawClient(broker.port) as client:
        client.call(MetadataRequest(topics=None), 9)
    counted = 'kafka_network_requestmetrics_requests_total{request="Metadata",version="9"} 1.0'
    assert counted in ask(broker, "GET", "/metrics")[1]


def test_both_faces_see_the_same(broker: barnabas.Broker) -> None:
    body = '{"api": "METADATA", "action": "error", "error": "NOT_CONTROLLER", "times": null}'
    status, made = ask(broker, "POST", "/control/faults", body)
    assert (status, made["times"], made["error"]) == (200, None, "NOT_CONTROLLER")
    assert [each.number for each in broker.faults] == [made["id"]]
    broker.requests.clear()
    with RawClient(broker.port, "raw") as client:
        client.call(MetadataRequest(topics=None), 9)
    assert ask(broker, "GET", f"/control/faults/{made['id']}")[1]["hits"] == 1
    assert ask(broker, "DELETE", f"/control/faults/{made['id']}")[0] == 200
    assert ask(broker, "GET", "/control/faults")[1] == {"faults": []}
    query = "api=METADATA&client_id=raw&count=1"
    requests = ask(broker, "GET", f"/control/requests?{query}")[1]["requests"]
    assert [(each["version"], each["request"]["topics"]) for each in requests] == [(9, None)]
    assert ask(broker, "DELETE", "/control/requests")[1] == {}
    assert len(broker.requests) == 0


def test_the_commands_list_themselves(broker: barnabas.Broker) -> None:
    listed = ask(broker, "GET", "/control")[1]["commands"]
    assert [(each["method"], each["path"]) for each in listed] == [
        (each.method, each.path) for each in COMMANDS
    ]
    assert "predicate" not in json.dumps(listed)


def test_without_the_setting_there_is_no_control(tmp_path: Path) -> None:
    with barnabas.Broker({"barnabas.http.port": 0}) as broker:
        server = broker.server
        assert isinstance(server, ServerBroker) and server.http is not None
        connection = http.client.HTTPConnection("127.0.0.1", server.http.port, timeout=20)
        connection.request("GET", "/control/broker")
        response = connection.getresponse()
        assert (
            response.status,
            b"/health, /healthz, /livez, /metrics, /readyz" in response.read(),
        ) == (404, True)
        connection.close()


def test_a_control_without_a_port_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"barnabas.http.control=true: needs barnabas.http.port"):
        load_config((), {"barnabas.http.control": "true"})


def test_a_port_that_is_taken_is_said(broker: barnabas.Broker) -> None:
    port = broker.control_url.rpartition(":")[2]
    with pytest.raises(StartFailed, match=f"cannot serve HTTP on 127.0.0.1:{port}: Address al"):
        barnabas.Broker({**CONTROL, "barnabas.http.port": port}).start()


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("127.0.0.1", None, 200),
        ("localhost:80", None, 200),
        ("LOCALHOST.", None, 200),
        ("broker.localhost", None, 200),
        ("[::1]:8080", None, 200),
        ("127.8.8.8", None, 200),
        ("docker-host:8080", None, 200),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", 200),
        ("evil.example", None, 403),
        ("evil.example:8080", "http://evil.example:8080", 403),
        ("127.0.0.1.evil.example", None, 403),
        ("localhost.evil.example", None, 403),
        ("notlocalhost", None, 403),
        ("10.0.0.1", None, 403),
        ("[::1", None, 403),
        ("localhost:80:80", None, 403),
        ("localhost@evil.example", None, 403),
        ("", None, 403),
        ("127.0.0.1:8080", "http://evil.example", 403),
        ("127.0.0.1:8080", "https://127.0.0.1:8080", 403),
        ("127.0.0.1:8080", "http://127.0.0.1:8081", 403),
        ("127.0.0.1:8080", "null", 403),
    ],
)
@pytest.mark.parametrize("path", ["/control/clock", "/metrics", "/health"])
def test_no_page_of_somebody_else_is_answered(
    path: str, host: str, origin: str | None, status: int, guarded: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", guarded, timeout=20)
    headers = {"Host": host, **({"Origin": origin} if origin is not None else {})}
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        said = response.read()
    finally:
        connection.close()
    assert (response.status, b"now_ms" in said) == (status, status == 200 and "clock" in path)


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    """The port of a control that may also be called by another name."""
    with barnabas.Broker({**CONTROL, "barnabas.http.hosts": "docker-host"}) as broker:
        yield int(broker.control_url.rpartition(":")[2])
