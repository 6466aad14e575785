"""Kafka's Java settings, as Spark's connector has them, for librdkafka, Python's client.

The one place where they are translated: who a client is and how it is let in is said once, in
Java's names (`kafka.sasl.jaas.config`), for Spark's driver, its tasks, and for what a job writes
or asks through `confluent_kafka`.
"""

import re
from collections.abc import Callable, Mapping

from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

Settings = dict[str, str | int | float | bool]

# Settings that both clients know by the same name and with the same values.
SAME = frozenset(
    {
        "batch.size",
        "client.id",
        "client.rack",
        "compression.type",
        "connections.max.idle.ms",
        "delivery.timeout.ms",
        "linger.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retry.backoff.ms",
        "sasl.kerberos.service.name",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "ssl.key.password",
        "transaction.timeout.ms",
    }
)
RENAMED = {
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "sasl.mechanism": "sasl.mechanism",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.cipher.suites": "ssl.cipher.suites",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
# Settings of a file, which are read together with its type.
OF_STORES = frozenset(
    f"ssl.{store}.{part}"
    for store in ("keystore", "truststore")
    for part in ("location", "password", "type")
)
LOGIN_MODULES = ("PlainLoginModule", "ScramLoginModule")


def python_client_settings(cluster: KafkaCluster) -> Settings:
    """What `confluent_kafka`'s clients are made with; PipelineError names what has no equal."""
    settings: Settings = {"log_level": 0}
    given = cluster.client_properties()
    for name, value in given.items():
        if name in SAME or name == "bootstrap.servers":
            settings[name] = value
        elif name in RENAMED:
            settings[RENAMED[name]] = value
        elif name in TRANSLATED:
            settings |= TRANSLATED[name](value)
        elif name not in OF_STORES:
            raise PipelineError(
                f"kafka.{name} has no equal in Python's client, which this job writes with; "
                "leave it out"
            )
    return settings | _trust_store(given) | _key_store(given)


def _endpoint_identification(value: str) -> Settings:
    return {"ssl.endpoint.identification.algorithm": value or "none"}


def _jaas(value: str) -> Settings:
    """`...ScramLoginModule required username="..." password="...";`, quotes with backslashes."""
    module, _, options = value.strip().partition(" ")
    if module.rpartition(".")[2] not in LOGIN_MODULES:
        raise PipelineError(
            f"Python's client, which this job writes with, knows no login module {module}; "
            "kafka.sasl.jaas.config has to name PlainLoginModule or ScramLoginModule"
        )
    found = dict(re.findall(r'(\w+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s;"]+)', options))
    plain = {name: _unquoted(text) for name, text in found.items()}
    if not {"username", "password"} <= plain.keys():
        raise PipelineError("kafka.sasl.jaas.config names no username and password")
    if plain.get("tokenauth") == "true":
        raise PipelineError("Python's client, which this job writes with, takes no tokens")
    return {"sasl.username": plain["username"], "sasl.password": plain["password"]}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


TRANSLATED: dict[str, Callable[[str], Settings]] = {
    "sasl.jaas.config": _jaas,
    "ssl.endpoint.identification.algorithm": _endpoint_identification,
}


def _trust_store(given: Mapping[str, str]) -> Settings:
    location = given.get("ssl.truststore.location")
    if location is None:
        return {}
    _require_type(given, "truststore", ("PEM",))
    return {"ssl.ca.location": location}


def _key_store(given: Mapping[str, str]) -> Settings:
    location = given.get("ssl.keystore.location")
    if location is None:
        return {}
    if _require_type(given, "keystore", ("PEM", "PKCS12")) == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    password = given.get("ssl.keystore.password", "")
    return {"ssl.keystore.location": location, "ssl.keystore.password": password}


def _require_type(given: Mapping[str, str], store: str, known: tuple[str, ...]) -> str:
    kind = given.get(f"ssl.{store}.type", "JKS").upper()
    if kind not in known:
        raise PipelineError(
            f"Python's client, which this job writes with, reads no {store} of the type {kind}: "
            f"kafka.ssl.{store}.type has to be {' or '.join(known)}"
        )
    return kind
