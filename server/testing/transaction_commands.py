"""Commands about the transactional ids that the broker coordinates."""

import asyncio
import time

from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host
from barnabas.server.testing.refusals import NotInTime
from barnabas.server.transactions.states import STATE_NAMES
from barnabas.server.transactions.transaction import Transaction

FIELDS = ("transactional_id", "state", "count", "timeout_ms")
WAIT_TIMEOUT_MS = 10_000
PAUSE_S = 0.005


async def list_all(host: Host, fields: Fields, number: int) -> object:
    """The ids that match, in the order of their names; waits until there are `count`."""
    name = fields.optional_text("transactional_id")
    has_state = fields.raw("state") is not None
    state = fields.one_of("state", STATE_NAMES, "") if has_state else None
    count = fields.whole_number("count") or 0
    timeout_ms = fields.milliseconds("timeout_ms", WAIT_TIMEOUT_MS)
    deadline = time.monotonic() + timeout_ms / 1000
    while (found := _matching(host, name, state)) is None or len(found) < count:
        if time.monotonic() >= deadline:
            raise _not_in_time(found, name, state, f"in {timeout_ms / 1000:g} s", count)
        await asyncio.sleep(PAUSE_S)
    return {"transactions": [_transaction(each) for each in found]}


def _matching(host: Host, name: str | None, state: str | None) -> list[Transaction] | None:
    """Those that match; None while some are being loaded."""
    transactions = host.broker.transactions
    if transactions.shards.is_loading:
        return None
    found = [
        each
        for each in transactions.all_transactions()
        if (name is None or each.transactional_id == name)
        and (state is None or each.state.text == state)
    ]
    return sorted(found, key=lambda each: each.transactional_id)


def _not_in_time(
    found: list[Transaction] | None, name: str | None, state: str | None, time: str, count: int
) -> NotInTime:
    if found is None:
        return NotInTime(f"the transactions were not loaded {time}")
    which = f" of {name}" if name is not None else ""
    which += f" in state {state}" if state is not None else ""
    return NotInTime(f"{len(found)} transactions{which} {time}, not {count}")


def _transaction(each: Transaction) -> dict[str, object]:
    return {
        "transactional_id": each.transactional_id,
        "state": each.state.text,
        "producer_id": each.producer_id,
        "producer_epoch": each.producer_epoch,
        "timeout_ms": each.timeout_ms,
        "partitions": [list(partition) for partition in sorted(each.partitions)],
    }
