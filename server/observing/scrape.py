"""The port that serves a broker's metrics and health.

Everything here happens when somebody scrapes; a broker whose `barnabas.http.port` is off only
counts. `/health` is 200 while the broker serves and 503 before and after; `/healthz` and `/readyz`
say the same, as Kubernetes asks, and `/livez` that the process answers. What there is to be
seen each room adds to `Metrics` itself, in a module `observe`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.server.core.loading import load_in_steps
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.observing.metrics import Metrics

if TYPE_CHECKING:
    from barnabas.server.observing.http import HttpRequest, HttpResponse, HttpServer
    from barnabas.wire.compiler import Steps

EXPORTER_PARTS: Final = (
    "email.parser",
    "http.client",
    "http.server",
    "urllib.request",
    "wsgiref.simple_server",
    "prometheus_client",
    "barnabas.server.observing.exposition",
)
"""What the first scrape loads, in this order: nearly all of it is prometheus-client's."""


class Observed(Protocol):
    """A broker, as it is seen from outside."""

    metrics: Metrics
    turns: Turns

    def health(self) -> Mapping[str, object]:
        """What /health answers; its "status" is "ok" while clients are served."""


async def serve_observations(observed: Observed, host: str, port: int, log: Log) -> "HttpServer":
    """Open the port; raises OSError. The caller stops it."""
    from barnabas.server.observing.http import HttpServer

    server = HttpServer(lambda error: log.unexpected("a request failed", error))
    Scrape(lambda: observed).add_to(server)
    bound = await server.start(host, port)
    log.info("serving metrics and health", host=host, port=bound)
    return server


class Scrape:
    """/metrics and the health of the broker that `broker_now` names; None while there is none."""

    def __init__(self, broker_now: Callable[[], Observed | None]) -> None:
        self._broker_now = broker_now
        self._exported: Observed | None = None
        self._export: Callable[[], Steps[tuple[bytes, str]]]

    def add_to(self, server: "HttpServer") -> None:
        """Serve all paths."""
        server.add("GET", "/metrics", self._metrics)
        for path in ("/health", "/healthz", "/readyz"):
            server.add("GET", path, self._health)
        server.add("GET", "/livez", _live)

    async def _metrics(self, request: "HttpRequest") -> "HttpResponse":
        from barnabas.server.observing.http import HttpResponse

        broker = self._broker_now()
        if broker is not None:
            await broker.turns.run(load_in_steps(EXPORTER_PARTS))
            broker = self._broker_now()
        if broker is None:
            return HttpResponse.text("the broker is stopped\n", 503)
        if broker is not self._exported:
            from barnabas.server.observing.exposition import exporter

            self._exported, self._export = broker, exporter(broker.metrics)
        text, content_type = await broker.turns.run(self._export())
        return HttpResponse(200, text, content_type)

    def _health(self, request: "HttpRequest") -> "HttpResponse":
        from barnabas.server.observing.http import HttpResponse

        broker = self._broker_now()
        state = {"status": "stopped"} if broker is None else broker.health()
        return HttpResponse.json(state, 200 if state["status"] == "ok" else 503)


def _live(request: "HttpRequest") -> "HttpResponse":
    """A broker that starts, or was stopped by its control, is no reason to kill the process."""
    from barnabas.server.observing.http import HttpResponse

    return HttpResponse.json({"status": "alive"})
