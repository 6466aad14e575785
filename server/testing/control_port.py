"""The control over HTTP: JSON in, JSON out, beside /metrics and /health.

    POST /control/faults {"api": "OFFSET_COMMIT", "action": "error", ...}  ->  {"id": 1, ...}
    a refusal  ->  400, 404, 405, 409 or 504 and {"error": "one sentence"}

No web page can make a browser open on the same machine stop somebody's broker: a POST has to call
itself application/json, even without a body; a Host that is not ours (`http_guard`) and an Origin
of another's are refused.
"""

import json
from collections.abc import Mapping
from typing import NoReturn

from barnabas.server.core.startup import StartFailed
from barnabas.server.observing.http import HttpRequest, HttpResponse, HttpServer
from barnabas.server.observing.http_guard import our_hosts_only
from barnabas.server.observing.scrape import Scrape
from barnabas.server.testing.commands import perform
from barnabas.server.testing.host import Host
from barnabas.server.testing.refusals import BadCommand, Refusal

UNSUPPORTED_TYPE = 415


async def open_control(host: Host, address: str, port: int) -> HttpServer:
    """Serve the control, and what is to be observed. Raises OSError; the caller stops it."""
    log = host.logs.room("http")
    guard = our_hosts_only([address, *host.config.barnabas_http_hosts])
    server = HttpServer(lambda error: log.unexpected("a request failed", error), guard=guard)

    async def control(request: HttpRequest) -> HttpResponse:
        return await _answer(host, request)

    for method in ("GET", "POST", "DELETE"):
        server.add(method, "/control", control)
        server.add(method, "/control/", control)
    Scrape(lambda: host.observed).add_to(server)
    bound = await server.start(address, port)
    log.warn("the control is open to whoever reaches it", host=address, port=bound)
    return server


async def _answer(host: Host, request: HttpRequest) -> HttpResponse:
    method = "GET" if request.method == "HEAD" else request.method
    place = f"{method} {request.path}"
    if (method == "POST" or request.body) and request.content_type != "application/json":
        return _refusal(UNSUPPORTED_TYPE, f"{place}: send the body as application/json")
    try:
        given = {**request.query, **_members(place, request.body)}
        return HttpResponse.json(await perform(host, method, request.path, given))
    except Refusal as refusal:
        return _refusal(refusal.status, str(refusal))
    except (StartFailed, OSError) as error:
        return _refusal(500, f"{place}: {error}")
    except Exception as error:
        host.logs.room("http").unexpected("a command failed", error)
        return _refusal(500, f"{place}: {error!r}, which is a bug; the broker's log says where")


def _refusal(status: int, sentence: str) -> HttpResponse:
    return HttpResponse.json({"error": sentence}, status)


def _members(place: str, body: bytes) -> Mapping[str, object]:
    """The JSON object that a body holds; an empty body is an empty one."""
    if not body:
        return {}
    try:
        members = json.loads(body, parse_constant=_no_number)
    except RecursionError:
        raise BadCommand(f"{place}: the body is nested too deep") from None
    except ValueError as error:
        raise BadCommand(f"{place}: the body is no JSON: {error}") from None
    if not isinstance(members, dict):
        raise BadCommand(f"{place}: the body must be a JSON object")
    return members


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")
