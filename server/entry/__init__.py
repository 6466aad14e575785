"""Barnabas: a message broker that speaks the Apache Kafka wire protocol."""
