"""Kafka's messages: one file per API (request and response together), one per data schema.

Modules are imported on first use (`barnabas.wire.api`), so that a broker that serves ten
APIs pays for ten.
"""
