"""How fast `barnabas-log` reads beside the Kafka source, by hand:

    python compat-tests/log_source_speed.py BYTES_OF_A_VALUE COUNT [CODEC] [ROUNDS]

One Barnabas, one topic of four partitions, one Spark of two cores; both sources read all of it into
Spark's noop sink in turns. Prints seconds, and CPU seconds of Spark, its Python and the broker.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import psutil
from broker_admin import BrokerAdmin
from broker_fixture import running_barnabas
from confluent_kafka import Producer
from oracles import require_oracle
from pyspark.sql import DataFrame

from barnabas.pipeline.log_source.source import register
from barnabas.pipeline.spark.session import running_session

PARTITIONS = 4
SETTINGS = {"spark.driver.memory": "1g"}


def produce(bootstrap: str, topic: str, size: int, count: int, codec: str) -> None:
    """Half of each value is noise and half a text that repeats."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "compression.type": codec}
    )
    noise, text = os.urandom(1 << 20), b'{"kind":"page_view","page":"/"}' * (size // 31 + 1)
    for number in range(count):
        start = number % 900_000
        value = (noise[start : start + size // 2] + text)[:size]
        while True:
            try:
                producer.produce(topic, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def cpu_seconds() -> float:
    """Of all processes that this one has started."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        times = process.cpu_times()
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measure(name: str, frame: DataFrame, megabytes: float) -> None:
    """Read everything once."""
    before, started = cpu_seconds(), time.monotonic()
    frame.write.format("noop").mode("overwrite").save()
    seconds, used = time.monotonic() - started, cpu_seconds() - before
    print(f"{name:12} {seconds:6.2f} s {megabytes / seconds:6.0f} MB/s {used:6.1f} s of CPU")


def main(size: int, count: int, codec: str = "none", rounds: int = 3) -> None:
    """Fill, then read in turns."""
    jars = require_oracle("jars-spark-4.2.0")
    with tempfile.TemporaryDirectory() as folder, running_barnabas(Path(folder)) as address:
        topic = BrokerAdmin(address).create_topic("speed", PARTITIONS)
        produce(address, topic, size, count, codec)
        with running_session("speed", master="local[2]", jars=jars, settings=SETTINGS) as spark:
            register(spark)
            kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", address)
            ours = spark.read.format("barnabas-log").option("path", folder)
            for _ in range(rounds):
                for name, reader in (("kafka", kafka), ("barnabas-log", ours)):
                    measure(name, reader.option("subscribe", topic).load(), size * count / 1e6)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:5]))
