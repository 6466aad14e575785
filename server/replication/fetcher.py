"""Whom a Fetch comes from."""

from typing import Final

from barnabas.wire.messages.fetch import FetchRequest

NO_BROKER_EPOCH: Final = -1


def replica_id_of(request: FetchRequest) -> int:
    """Who fetches: a broker's id, or a negative number for a consumer."""
    if request.replica_state is not None:
        return request.replica_state.replica_id
    return request.replica_id


def broker_epoch_of(request: FetchRequest) -> int:
    """The registration of the broker that fetches; -1 before version 15, which names it."""
    if request.replica_state is not None:
        return request.replica_state.replica_epoch
    return NO_BROKER_EPOCH
