"""Apache's perf-test tools out of `kafka-tools`, and the figures they print."""

import re
import subprocess

from peers import JARS

_PACKAGE = "org.apache.kafka.tools"


class ToolError(Exception):
    """A tool failed, or printed something else than it does in Kafka 4.4."""


def produce(address: str, topic: str, records: int, value_bytes: int) -> float:
    """kafka-producer-perf-test as fast as it can; MB/s (10^6) as it reports on its last line."""
    lines = _run(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(value_bytes)),
        *("--throughput", "-1", "--producer-props", f"bootstrap.servers={address}", "acks=all"),
    )
    found = re.search(r"([\d.]+) records/sec", lines[-1])
    if found is None:
        raise ToolError(f"kafka-producer-perf-test said: {lines[-1]}")
    return float(found[1]) * value_bytes / 1e6


def consume(address: str, topic: str, records: int) -> float:
    """kafka-consumer-perf-test; MB/s (10^6) of fetching, without the time the group took."""
    lines = _run(
        "ConsumerPerformance",
        *("--bootstrap-server", address, "--topic", topic, "--num-records", str(records)),
    )
    names, values = (line.split(", ") for line in lines[-2:])
    fetched = dict(zip((name.strip() for name in names), values, strict=True))
    return float(fetched["fetch.MB.sec"]) * 2**20 / 1e6


def _run(tool: str, *arguments: str) -> list[str]:
    command = ["java", "-Xmx512M", "-cp", f"{JARS}/*", f"{_PACKAGE}.{tool}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise ToolError(f"{tool}: {done.stdout[-400:]}{done.stderr[-400:]}")
    return done.stdout.strip().splitlines()
