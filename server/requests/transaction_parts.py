"""What transactions need besides their coordinator, each made when the first of them needs it.

A broker without transactions imports none of it, and asks nothing of other brokers.
"""

from __future__ import annotations  # what the types name is imported when it is needed

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from barnabas.server.observing.logs import Log
from barnabas.server.requests.other_brokers import peers_of
from barnabas.server.requests.services import Services

if TYPE_CHECKING:
    from barnabas.server.peers.peers import Peers
    from barnabas.server.requests.direct import Tested
    from barnabas.server.transactions.marker_log import LocalMarkers
    from barnabas.server.transactions.markers import MarkerSender
    from barnabas.server.transactions.other_coordinators import OtherCoordinators
    from barnabas.server.transactions.verification import Verifier


class TransactionParts:
    """The parts of one broker. `tested` is where tests disturb its requests to itself."""

    def __init__(self, services: Services, tested: Tested, log: Log) -> None:
        self._services = services
        self._tested = tested
        self._log = log
        self._stops: list[Callable[[], object]] = []

    @cached_property
    def local_markers(self) -> LocalMarkers:
        """What writes transaction markers here."""
        from barnabas.server.transactions.marker_log import LocalMarkers

        parts = self._services
        return LocalMarkers(
            parts.replicas, parts.clock, parts.produces, parts.fetches, parts.disks.flush,
            parts.groups.end_transaction, self._timeout_ms, parts.turns, self._log,
        )  # fmt: skip

    @cached_property
    def markers(self) -> MarkerSender:
        """What tells partitions that transactions have ended."""
        from barnabas.server.requests.own_markers import ask_itself_for_markers
        from barnabas.server.transactions.marker_requests import MarkerRequests
        from barnabas.server.transactions.markers import MarkerSender

        parts = self._services
        ask_itself = ask_itself_for_markers(parts, self._tested)
        requests = MarkerRequests(parts.broker_id, ask_itself, self._peers("txn-marker-sender"))
        self._stops.append(requests.stop)
        exists = parts.registry.topics.has_partition
        return MarkerSender(parts.metadata, requests.ask, exists, parts.clock, self._log)

    @cached_property
    def verifier(self) -> Verifier:
        """What asks whether batches belong to their transactions."""
        from barnabas.server.transactions.verification import Verifier

        parts = self._services
        return Verifier(
            parts.broker_id, parts.config, parts.metadata, parts.clock, parts.transactions,
            self._other_coordinators,
        )  # fmt: skip

    @cached_property
    def _other_coordinators(self) -> OtherCoordinators:
        from barnabas.server.transactions.other_coordinators import OtherCoordinators

        made = OtherCoordinators(self._peers("txn-verifier"))
        self._stops.append(made.stop)
        return made

    def _peers(self, purpose: str) -> Peers:
        """The other brokers, for one purpose."""
        client_id = f"broker-{self._services.broker_id}-{purpose}"
        return peers_of(self._services, client_id)

    def _timeout_ms(self) -> int:
        return self._services.config.request_timeout_ms

    def stop(self) -> None:
        """Ask nothing more of other brokers."""
        for stop in self._stops:
            stop()
