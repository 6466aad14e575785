"""Barnabas: a message broker that speaks the Apache Kafka wire protocol."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker as Broker
    from barnabas.server.testing.cluster import Cluster as Cluster

__all__ = ["Broker", "Cluster"]


def __getattr__(name: str) -> Any:
    """`barnabas.Broker` and `barnabas.Cluster` are imported when somebody asks for them."""
    if name == "Broker":
        from barnabas.server.testing.broker import Broker

        return Broker
    if name == "Cluster":
        from barnabas.server.testing.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
