"""The Grafana dashboard and the alerts, by a real Prometheus on a broker that is used."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from deployment_parts import FILES
from prometheus import Prometheus, prometheus, promtool

import barnabas

ALERTS = FILES / "alerts.yml"
DASHBOARD = json.loads((FILES / "grafana" / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
METRIC = re.compile(r"\b(?:kafka|process)_\w+")
STANDS_FOR = {"$job": "barnabas", "$instance": ".*", "$topic": ".*", "$__rate_interval": "20s"}
PATIENCE_S = 90.0


def expressions() -> Iterator[str]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"]


def alerts() -> dict[str, str]:
    """Each alert's name and rule."""
    _, *rules = ALERTS.read_text().split("- alert: ")
    return {rule.split("\n")[0]: rule for rule in rules}


@pytest.fixture(scope="module")
def broker() -> Iterator[barnabas.Broker]:
    settings = {"barnabas.http.port": 0, "barnabas.http.control": True}
    with barnabas.Broker(settings) as made:
        made.create_topic("orders", 3)
        yield made


@pytest.fixture(scope="module")
def watching(
    broker: barnabas.Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    target = broker.control_url.removeprefix("http://")
    with prometheus(tmp_path_factory.mktemp("prometheus"), target) as made:
        yield made


class Users:
    """Clients of every kind that a panel shows."""

    def __init__(self, broker: barnabas.Broker) -> None:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        self._broker = broker
        self._producer = Producer(servers)
        self._transactional = Producer({**servers, "transactional.id": "till"})
        self._transactional.init_transactions(30)
        self._consumer = Consumer(
            {**servers, "group.id": "readers", "auto.offset.reset": "earliest"}
        )
        self._consumer.subscribe(["orders"])

    def work(self) -> None:
        """A little of everything."""
        self._producer.produce("orders", b"one")
        assert self._producer.flush(30) == 0
        self._transactional.begin_transaction()
        self._transactional.produce("orders", b"two")
        self._transactional.commit_transaction(30)
        if self._consumer.poll(0.5) is not None:
            self._consumer.commit(asynchronous=False)
        self._broker.faults.add("error", api="METADATA", error="LEADER_NOT_AVAILABLE")
        self._producer.list_topics(timeout=30)

    def close(self) -> None:
        self._consumer.close()


def test_no_panel_is_without_data(broker: barnabas.Broker, watching: Prometheus) -> None:
    empty, deadline = set(expressions()), time.monotonic() + PATIENCE_S
    with closing(Users(broker)) as users:
        while empty:
            assert time.monotonic() < deadline, f"without data: {sorted(empty)}"
            users.work()
            empty = {each for each in empty if not watching.has_data(filled_in(each))}


def filled_in(expression: str) -> str:
    for variable, value in STANDS_FOR.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression, expression
    return expression


def test_the_alerts_are_evaluated_and_none_fires_for_a_broker_that_is_well(
    watching: Prometheus,
) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        (group,) = watching.get("rules")["groups"]
        if all(rule["health"] == "ok" for rule in group["rules"]):
            break
        assert time.monotonic() < deadline, [rule["health"] for rule in group["rules"]]
        time.sleep(0.2)
    assert {rule["name"] for rule in group["rules"]} == set(alerts())
    pending = {rule["name"]: rule["state"] for rule in group["rules"] if rule["alerts"]}
    assert pending.keys() <= {"BarnabasBusy"}  # on a busy machine, as it may


def test_every_metric_that_is_named_exists(broker: barnabas.Broker) -> None:
    with urllib.request.urlopen(f"{broker.control_url}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    there = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    named = {name for each in expressions() for name in METRIC.findall(each)}
    named |= {name for rule in alerts().values() for name in METRIC.findall(rule)}
    assert len(named) > 50
    assert named - there == set()


STORAGE_ERRORS = (
    'kafka_network_requestmetrics_errors_total{error="KAFKA_STORAGE_ERROR",request="Produce"}'
)
# What Grafana's own schema demands of a panel; without `showLegend` lines have no names.
OPTIONS = {
    "timeseries": {"legend", "tooltip"},
    "stat": {
        "graphMode", "colorMode", "justifyMode", "textMode", "wideLayout", "showPercentChange",
        "percentChangeColorMode", "orientation", "reduceOptions",
    },
}  # fmt: skip
# What makes each alert fire: series of its metric, one value a minute.
FIRES = {
    "BarnabasDown": {"up": "0x20"},
    "BarnabasNoController": {"kafka_controller_kafkacontroller_activecontrollercount": "0x20"},
    "BarnabasOfflineReplicas": {"kafka_server_replicamanager_offlinereplicacount": "1x20"},
    "BarnabasUnderMinIsr": {"kafka_server_replicamanager_underminisrpartitioncount": "1x20"},
    "BarnabasUnderReplicated": {"kafka_server_replicamanager_underreplicatedpartitions": "1x20"},
    "BarnabasFollowersBehind": {"kafka_server_replicafetchermanager_maxlag": "200000x20"},
    "BarnabasFollowersFailed": {"kafka_server_replicafetchermanager_failedpartitionscount": "1x20"},
    "BarnabasServerErrors": {STORAGE_ERRORS: "0+1x20"},
    "BarnabasProduceSlow": {
        'kafka_network_requestmetrics_totaltimems{request="Produce",quantile="0.99"}': "1500x20"
    },
    "BarnabasBusy": {"process_cpu_seconds_total": "0+58x20"},
    "BarnabasFilesRunOut": {"process_open_fds": "900x20", "process_max_fds": "1000x20"},
    "BarnabasLateTransactions": {
        "kafka_server_replicamanager_partitionswithlatetransactionscount": "1x20"
    },
    "BarnabasGroupsRebalanceOn": {
        "kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance": "1x20"
    },
    "BarnabasRestarts": {"process_start_time_seconds": "0+5x20"},
}
WELL = {
    "up": "1x20",
    "kafka_controller_kafkacontroller_activecontrollercount": "1x20",
    "process_start_time_seconds": "5x20",
}


def series(wanted: dict[str, str]) -> list[dict[str, str]]:
    def name(text: str) -> str:
        metric, _, labels = text.removesuffix("}").partition("{")
        return f'{metric}{{job="barnabas",instance="a:1"{"," if labels else ""}{labels}}}'

    return [{"series": name(metric), "values": values} for metric, values in wanted.items()]


def case(wanted: dict[str, str], firing: list[str]) -> dict[str, Any]:
    """What promtool is to find of the alerts that fire."""
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing]
    expression = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {
        "interval": "1m",
        "input_series": series(wanted),
        "promql_expr_test": [{"expr": expression, "eval_time": "20m", "exp_samples": samples}],
    }


def test_each_alert_fires_when_it_should_and_not_otherwise(tmp_path: Path) -> None:
    assert set(FIRES) == set(alerts())
    cases = [case(WELL, [])] + [case(wanted, [name]) for name, wanted in FIRES.items()]
    file = tmp_path / "tests.yml"  # JSON is YAML
    file.write_text(
        json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": cases})
    )
    promtool("check", "rules", str(ALERTS))
    assert "SUCCESS" in promtool("test", "rules", str(file))


def test_panels_and_alerts_are_told_apart() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["description"], panel["title"]
        assert set(panel["options"]) >= OPTIONS[panel["type"]], panel["title"]
        if panel["type"] == "timeseries":
            assert panel["options"]["legend"]["showLegend"] is True
    for name, rule in alerts().items():
        for key in ("severity", "summary", "description"):
            assert f"{key}:" in rule, name
