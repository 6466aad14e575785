"""Kafka's well-known metrics read from a broker's parts, and the port that serves them.

Everything here happens when somebody scrapes; a broker whose `barnabas.http.port` is off only
counts. `/health` is 200 while the broker serves and 503 before and after.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.server.core.delayed import Delayed
from barnabas.server.observing.metrics import Source, Values
from barnabas.wire.api import ApiKey, api_name

if TYPE_CHECKING:
    from barnabas.server.broker import Broker
    from barnabas.server.observing.http import HttpRequest, HttpResponse, HttpServer
    from barnabas.server.replication.partition import Partition
    from barnabas.wire.compiler import Steps


def observe(broker: "Broker") -> None:
    """Show what the broker's parts know among its metrics; call once, when they are made."""
    for show in (_replicas, _logs, _requests, _waits, _sessions, _controller):
        show(broker)


async def serve_observations(broker: "Broker") -> "HttpServer | None":
    """Open the port that `barnabas.http.port` asks for; raises OSError. The caller stops it.

    Under a control (`barnabas.http.control`) the port is the control's, which outlives brokers.
    """
    config = broker.config
    if config.barnabas_http_port < 0 or config.barnabas_http_control:
        return None
    from barnabas.server.observing.http import HttpServer

    log = broker.logs.room("http")
    server = HttpServer(lambda error: log.unexpected("a request failed", error))
    Scrape(lambda: broker).add_to(server)
    port = await server.start(config.barnabas_http_host, config.barnabas_http_port)
    log.info("serving metrics and health", host=config.barnabas_http_host, port=port)
    return server


class Scrape:
    """/metrics and /health of the broker that `broker_now` names; None while there is none."""

    def __init__(self, broker_now: Callable[[], "Broker | None"]) -> None:
        self._broker_now = broker_now
        self._exported: Broker | None = None
        self._export: Callable[[], Steps[tuple[bytes, str]]]

    def add_to(self, server: "HttpServer") -> None:
        """Serve both paths."""
        server.add("GET", "/metrics", self._metrics)
        server.add("GET", "/health", self._health)

    async def _metrics(self, request: "HttpRequest") -> "HttpResponse":
        from barnabas.server.observing.exposition import exporter
        from barnabas.server.observing.http import HttpResponse

        broker = self._broker_now()
        if broker is None:
            return HttpResponse.text("the broker is stopped\n", 503)
        if broker is not self._exported:
            self._exported, self._export = broker, exporter(broker.metrics)
        text, content_type = await broker.turns.run(self._export())
        return HttpResponse(200, text, content_type)

    def _health(self, request: "HttpRequest") -> "HttpResponse":
        from barnabas.server.observing.http import HttpResponse

        broker = self._broker_now()
        state = {"status": "stopped"} if broker is None else _health(broker)
        return HttpResponse.json(state, 200 if state["status"] == "ok" else 503)


def _health(broker: "Broker") -> dict[str, object]:
    serving = broker.is_serving and not broker.failed.done()
    offline = len(broker.replicas.offline) if serving else 0
    return {
        "status": "ok" if serving else "starting",
        "broker_id": broker.broker_id,
        "cluster_id": broker.metadata.cluster_id,
        "controller": serving and broker.controller.is_active,
        "partitions": len(broker.replicas) if serving else 0,
        "offline_partitions": offline,
    }


def _replicas(broker: "Broker") -> None:
    prefix, metrics = "kafka_server_replicamanager", broker.metrics

    def count(holds: Callable[["Partition"], bool]) -> Callable[[], int]:
        return lambda: sum(map(holds, broker.replicas))

    def offline() -> int:
        return len(broker.replicas.offline)

    metrics.gauge(f"{prefix}_partitioncount", "replicas here", count(lambda p: True))
    metrics.gauge(f"{prefix}_leadercount", "partitions led here", count(lambda p: p.is_leader))
    metrics.gauge(
        f"{prefix}_underreplicatedpartitions",
        "partitions led here with a replica out of sync",
        count(lambda p: p.is_leader and len(p.isr) < len(p.replicas)),
    )
    metrics.gauge(
        f"{prefix}_underminisrpartitioncount",
        "partitions led here that acks=all cannot write to",
        count(lambda p: p.is_leader and len(p.isr) < p.min_insync_replicas),
    )
    metrics.gauge(f"{prefix}_offlinereplicacount", "replicas in failed directories", offline)


def _logs(broker: "Broker") -> None:
    def source(name: str, text: str, read: Callable[["Partition"], int]) -> Source:
        def values() -> Values:
            return (((p.topic, str(p.index)), read(p)) for p in tuple(broker.replicas))

        return Source("gauge", f"kafka_log_log_{name}", text, ("topic", "partition"), values)

    broker.metrics.add(
        source("size", "bytes of all segments", lambda p: p.log.size_bytes),
        source("numlogsegments", "segments", lambda p: len(p.log.segments)),
        source("logstartoffset", "first offset kept", lambda p: p.log.log_start_offset),
        source("logendoffset", "offset of the next record", lambda p: p.log.log_end_offset),
    )


def _requests(broker: "Broker") -> None:
    def requests() -> Values:
        routes = broker.dispatcher.routes
        return [((api_name(ApiKey(k)), str(v)), route.count) for (k, v), route in routes.items()]

    def connections() -> Values:
        counts = Counter(each.listener_name for each in broker.population.connections)
        return [((name,), count) for name, count in counts.items()]

    def software() -> Values:
        counts = Counter((c.listener_name, *c.software) for c in broker.population.connections)
        return list(counts.items())

    broker.metrics.add(
        Source(
            "counter",
            "kafka_network_requestmetrics_requests",
            "requests by API and version",
            ("request", "version"),
            requests,
        ),
        Source(
            "gauge",
            "kafka_server_socket_server_metrics_connection_count",
            "open connections by listener",
            ("listener",),
            connections,
        ),
        Source(
            "gauge",
            "kafka_server_socket_server_metrics_connections",
            "open connections by listener and by what clients say they are (KIP-511)",
            ("listener", "clientSoftwareName", "clientSoftwareVersion"),
            software,
        ),
    )
    memory = broker.population.request_memory
    if memory is not None:
        prefix = "kafka_network_socketserver_memorypool"
        broker.metrics.gauge(
            f"{prefix}available",
            "bytes left of queued.max.request.bytes",
            lambda: memory.available_bytes,
        )
        broker.metrics.gauge(
            f"{prefix}used", "bytes of large requests being received", lambda: memory.used_bytes
        )


def _waits(broker: "Broker") -> None:
    kinds = (broker.fetches, broker.produces)

    def expires(waits: Delayed) -> Callable[[], int]:
        return lambda: waits.expired_count

    def sizes() -> Values:
        return [((waits.name,), len(waits)) for waits in kinds]

    prefix, labels = "kafka_server_delayedoperationpurgatory", ("delayedoperation",)
    metrics = broker.metrics
    metrics.add(
        Source("gauge", f"{prefix}_purgatorysize", "requests that wait", labels, sizes),
        Source("gauge", f"{prefix}_numdelayedoperations", "requests that wait", labels, sizes),
    )
    for waits in kinds:
        name = f"kafka_server_delayed{waits.name.lower()}metrics_expires"
        metrics.counter(name, f"{waits.name} requests whose time ran out", expires(waits))


def _sessions(broker: "Broker") -> None:
    sessions, prefix = broker.fetch_sessions, "kafka_server_fetchsessioncache"
    broker.metrics.gauge(
        f"{prefix}_numincrementalfetchsessions", "fetch sessions", lambda: len(sessions)
    )
    broker.metrics.counter(
        f"{prefix}_incrementalfetchsessionevictions",
        "fetch sessions put out by others",
        lambda: sessions.evicted_count,
    )


def _controller(broker: "Broker") -> None:
    prefix, metrics, topics = (
        "kafka_controller_kafkacontroller",
        broker.metrics,
        broker.metadata.topics,
    )

    def partitions() -> int:
        return sum(len(topic.partitions) for topic in topics.values())

    metrics.gauge(
        f"{prefix}_activecontrollercount",
        "1 on the broker that is the controller",
        lambda: int(broker.controller.is_active),
    )
    metrics.gauge(f"{prefix}_globaltopiccount", "topics", lambda: len(topics))
    metrics.gauge(f"{prefix}_globalpartitioncount", "partitions", partitions)
