"""Whom a Fetch comes from."""

from barnabas.wire.messages.fetch import FetchRequest


def replica_id_of(request: FetchRequest) -> int:
    """Who fetches: a broker's id, or a negative number for a consumer."""
    if request.replica_state is not None:
        return request.replica_state.replica_id
    return request.replica_id
