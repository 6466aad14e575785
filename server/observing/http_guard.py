"""Who may give commands over HTTP: no web page of somebody else.

A page can make its name resolve to this machine (DNS rebinding), and then the browser takes our
port for the page's own: the Host it sends is still that name, and is not ours. Without that trick
the browser says in Origin whose page asks.
"""

import re
from collections.abc import Collection
from ipaddress import ip_address

from barnabas.server.observing.http import Guard, HttpRequest, Refused

FORBIDDEN = 403
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:\[\]]+)(?::\d{1,5})?")


def our_hosts_only(names: Collection[str]) -> Guard:
    """A guard that takes loopback's names, the address connected to and `names` for ours."""
    ours = {name.lower().strip("[]") for name in names}

    def guard(request: HttpRequest) -> None:
        host = request.host.lower()
        name = _name_in(host)
        if not (name in ours or name == request.local_address or _is_loopback(name)):
            raise Refused(
                f"{request.host!r} is no name of this broker; see `barnabas.http.hosts`", FORBIDDEN
            )
        if request.origin is not None and request.origin.lower() != f"http://{host}":
            raise Refused(f"a page of {request.origin!r} may not ask here", FORBIDDEN)

    return guard


def _name_in(host: str) -> str:
    """The name or address in a Host header, without its port; empty if it is none."""
    found = _HOST.fullmatch(host)
    return found[1].strip("[]").rstrip(".") if found else ""


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
