"""Pure functions over a recorded history: which anomalies does it hold?

The names are those of Jepsen's workload for Kafka. Nothing here knows a broker, a client or a
clock; a history comes from a file or from a test.
"""
