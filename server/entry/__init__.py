"""Barnabas: a message broker that speaks the Apache Kafka wire protocol."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker as Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    """`barnabas.Broker` is imported when somebody asks for it."""
    if name == "Broker":
        from barnabas.server.testing.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
