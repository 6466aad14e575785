"""Commands about the requests that were answered."""

from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host
from barnabas.server.testing.refusals import NotInTime
from barnabas.server.testing.seen import Seen, seen_to_json
from barnabas.wire.api import ApiKey

FIELDS = ("api", "client_id", "after", "count", "timeout_ms")
WAIT_TIMEOUT_MS = 10_000


async def find(host: Host, fields: Fields) -> list[Seen]:
    """What `GET /control/requests` asks for, before it is JSON. Raises NotInTime."""
    api = fields.named("api", ApiKey, "the name of an API, as OFFSET_COMMIT")
    count = fields.whole_number("count") or 0
    timeout_ms = fields.milliseconds("timeout_ms", WAIT_TIMEOUT_MS)
    found = await host.seen.wait_for(
        api,
        fields.optional_text("client_id"),
        fields.whole_number("after") or 0,
        count,
        timeout_ms,
    )
    if len(found) < count:
        of = f" of {api.name}" if api is not None else ""
        noun = "request" if len(found) == 1 else "requests"
        raise NotInTime(f"{len(found)} {noun}{of} in {timeout_ms / 1000:g} s, not {count}")
    return found


async def list_all(host: Host, fields: Fields, number: int) -> object:
    """The requests that match, as JSON."""
    return {"requests": [seen_to_json(each) for each in await find(host, fields)]}


async def forget_all(host: Host, fields: Fields, number: int) -> object:
    """Forget what was seen."""
    host.seen.clear()
    return {}
