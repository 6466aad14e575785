"""Produces the flights with kafka-python: flights_producer.py BOOTSTRAP TOPIC."""

from __future__ import annotations

import sys
from pathlib import Path

from kafka import KafkaProducer

sys.path.insert(0, str(Path(__file__).parents[1]))
from flights import flights, partition_of

producer = KafkaProducer(bootstrap_servers=sys.argv[1], linger_ms=20, batch_size=64 * 1024)
sent = [
    producer.send(sys.argv[2], value, key, partition=partition_of(key)) for key, value in flights()
]
producer.flush()
failed = [future.exception for future in sent if future.failed()]
producer.close()
sys.exit(f"{len(failed)} were refused: {failed[0]}" if failed else 0)
