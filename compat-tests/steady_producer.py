"""Produces numbered records until its input ends, through any trouble; says what was acknowledged.

    steady_producer.py KIND BOOTSTRAP TOPIC    KIND: librdkafka, librdkafka-idempotent,
                                               kafka-python, aiokafka

On the way out it prints one JSON list of the acknowledged numbers.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time

PAUSE_S = 0.001
DELIVERY_MS = 60_000


def main() -> None:
    kind, bootstrap, topic = sys.argv[1:]
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    if kind.startswith("librdkafka"):
        acknowledged = librdkafka(bootstrap, topic, over, kind.endswith("idempotent"))
    elif kind == "kafka-python":
        acknowledged = kafka_python(bootstrap, topic, over)
    else:
        acknowledged = asyncio.run(aiokafka(bootstrap, topic, over))
    print(json.dumps(sorted(acknowledged)))


def librdkafka(bootstrap: str, topic: str, over: threading.Event, idempotent: bool) -> list[int]:
    from confluent_kafka import Producer

    acknowledged: list[int] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": idempotent,
            "message.timeout.ms": DELIVERY_MS,
            "log_level": 0,
        }
    )
    number = 0
    while not over.is_set():
        producer.produce(
            topic,
            str(number),
            on_delivery=lambda e, m: None if e else acknowledged.append(int(m.value())),
        )
        producer.poll(PAUSE_S)
        number += 1
    producer.flush(DELIVERY_MS / 1000)
    return acknowledged


def kafka_python(bootstrap: str, topic: str, over: threading.Event) -> list[int]:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", retries=1000)
    sent = []
    while not over.is_set():
        sent.append(producer.send(topic, str(len(sent)).encode()))
        time.sleep(PAUSE_S)
    producer.flush(DELIVERY_MS / 1000)
    done = [number for number, future in enumerate(sent) if future.succeeded()]
    producer.close()
    return done


async def aiokafka(bootstrap: str, topic: str, over: threading.Event) -> list[int]:
    from aiokafka import AIOKafkaProducer

    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, acks="all", request_timeout_ms=DELIVERY_MS
    )
    await producer.start()
    sent = []
    while not over.is_set():
        sent.append(await producer.send(topic, str(len(sent)).encode()))
        await asyncio.sleep(PAUSE_S)
    await producer.flush()
    outcomes = await asyncio.gather(*sent, return_exceptions=True)
    await producer.stop()
    return [number for number, each in enumerate(outcomes) if not isinstance(each, Exception)]


main()
