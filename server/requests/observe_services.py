"""All that a broker's parts know, among its metrics."""

from barnabas.server.controller.observe import observe_cluster
from barnabas.server.groups.observe import observe_groups
from barnabas.server.network.observe import observe_connections
from barnabas.server.replication.fetching.observe import observe_fetchers
from barnabas.server.replication.moving.observe import observe_moves
from barnabas.server.replication.observe import (
    observe_in_sync,
    observe_logs,
    observe_replicas,
    observe_sessions,
)
from barnabas.server.requests.observe import observe_waits
from barnabas.server.requests.services import Services
from barnabas.server.transactions.observe import observe_late_transactions, observe_transactions


def observe_services(parts: Services) -> None:
    """Show each; requests are counted by who routes them (`observe_requests`)."""
    metrics = parts.metrics
    observe_replicas(parts.replicas, metrics)
    observe_in_sync(parts.replicas, metrics)
    observe_logs(parts.replicas, metrics)
    observe_fetchers(parts.followers, metrics)
    observe_moves(parts.moves, metrics)
    observe_sessions(parts.fetch_sessions, metrics)
    observe_waits((parts.fetches, parts.produces, parts.deletions), metrics)
    observe_connections(parts.population, metrics)
    observe_cluster(parts.controller, parts.metadata, metrics)
    observe_groups(parts.groups, metrics)
    observe_transactions(parts.transactions, metrics)
    observe_late_transactions(
        parts.replicas,
        parts.clock.now_ms,
        lambda: parts.config.transaction_max_timeout_ms,
        metrics,
    )
