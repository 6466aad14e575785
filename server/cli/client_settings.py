"""`--client NAME=VALUE`: settings by Kafka's names (or librdkafka's), for the client they are for.

A command that sends or reads records runs two of kafka-python's clients: each gets what it
knows. What none of a command's clients knows is BadInput, with the nearest name.
"""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from barnabas.server.cli.failures import BadInput, did_you_mean, reason_of
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.options import named_values

ADMIN, PRODUCER, CONSUMER = "KafkaAdminClient", "KafkaProducer", "KafkaConsumer"
OWNERS = {ADMIN: "administrators", PRODUCER: "producers", CONSUMER: "consumers"}
# name as librdkafka or the Java client has it -> kafka-python's
OTHER_NAMES = {
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.truststore.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "fetch.wait.max.ms": "fetch_max_wait_ms",
    "fetch.message.max.bytes": "max_partition_fetch_bytes",
    "message.max.bytes": "max_request_size",
}
INSTEAD = {"bootstrap_servers": "--bootstrap", "group_id": "--group"}
# kafka-python takes any other word for PLAINTEXT.
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
WHOLE_NUMBERS = ("receive_buffer_bytes", "send_buffer_bytes")
FILES = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_crlfile")
VERSION = "api_version"
OLDEST = (0, 10, 1)  # with one before it kafka-python runs into its own recursion


def settings_for(client: str, pairs: tuple[str, ...], also: tuple[str, ...] = ()) -> dict[str, Any]:
    """Arguments for one client of kafka-python; `also` names the command's other clients.

    Raises BadInput for what none of them knows, and for values that are of the wrong kind.
    """
    found: dict[str, Any] = {}
    for typed, text in named_values(pairs, "--client").items():
        name = OTHER_NAMES.get(typed) or typed.replace(".", "_").replace("-", "_")
        knowing = [each for each in (client, *also) if name in _known(each)]
        if not knowing or name in INSTEAD:
            raise BadInput(f"--client: {_why_not(typed, name, (client, *also))}")
        value = _value(typed, name, text, _known(knowing[0])[name])
        if client in knowing:
            found[name] = value
    _check_certificates(found)
    return found


def made(client: str, settings: dict[str, Any]) -> Any:
    """A client of kafka-python; what it says of its arguments is BadInput."""
    try:
        made_one = getattr(kafka("admin" if client == ADMIN else ""), client)(**settings)
    except (ValueError, TypeError, AssertionError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadInput(f"--client: {reason.rstrip('.')}") from error
    # It takes allow_auto_create_topics and forgets it: a topic that is deleted while somebody
    # follows it would be there again.
    manager_of(made_one).cluster.config["allow_auto_create_topics"] = False
    return made_one


def manager_of(client: Any) -> Any:
    """The manager of a client's connections, and of what it knows of the cluster."""
    sender = getattr(client, "_sender", None)
    return sender._client._manager if sender is not None else client._manager


def _known(client: str) -> dict[str, Any]:
    if client == ADMIN:
        defaults: dict[str, Any] = kafka("admin").KafkaAdminClient.DEFAULT_CONFIG
    else:
        defaults = getattr(kafka(), client).DEFAULT_CONFIG
    return {name: value for name, value in defaults.items() if _is_text(name, value)}


def _is_text(name: str, default: object) -> bool:
    """Whether a line of text can say it: no class, function, list or object can be typed."""
    objects = ("ssl_context", "sasl_oauth_token_provider", "key_serializer", "value_serializer",
               "key_deserializer", "value_deserializer")  # fmt: skip
    simple = default is None or isinstance(default, bool | int | float | str)
    return simple and name not in objects


def _why_not(typed: str, name: str, clients: tuple[str, ...]) -> str:
    if name in INSTEAD:
        return f"{typed} is what {INSTEAD[name]} says"
    for other, owners in OWNERS.items():
        if other not in clients and name in _known(other):
            return f"{typed} is a setting of {owners}, and this command runs none"
    known = {each.replace("_", ".") for client in clients for each in _known(client)}
    return f"there is no setting {typed}{did_you_mean(typed, sorted(known))}"


def _check_file(typed: str, path: str) -> None:
    """kafka-python opens it when it connects, and takes what fails for a broker that is away."""
    try:
        Path(path).open("rb").close()
    except OSError as error:
        raise BadInput(f"--client: {typed}={path}: {reason_of(error)}") from error


def _check_certificates(found: dict[str, Any]) -> None:
    """What is in the files, for the same reason: kafka-python looks when it connects."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authorities, certificate = found.get("ssl_cafile"), found.get("ssl_certfile")
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except ssl.SSLError as error:
            raise BadInput(f"--client: {authorities} holds no certificates in PEM") from error
    if certificate is not None:
        key, password = found.get("ssl_keyfile"), found.get("ssl_password", "")
        try:
            context.load_cert_chain(certificate, key, password)
        except ssl.SSLError as error:
            raise BadInput(
                f"--client: {certificate} and {key or 'the same file'} hold no certificate and its "
                "key in PEM (or ssl.key.password is another)"
            ) from error


def _release(text: str) -> tuple[int, ...]:
    """ValueError for what is none, or too old."""
    numbers = tuple(map(int, text.split(".")))
    if numbers < OLDEST:
        raise ValueError(text)
    return numbers


def _value(typed: str, name: str, text: str, default: object) -> object:
    kinds: list[tuple[bool, Callable[[str], object], str]] = [
        (
            name == "security_protocol",
            lambda t: PROTOCOLS[PROTOCOLS.index(t.upper())],
            "one of " + ", ".join(PROTOCOLS),
        ),
        (name == "acks", lambda t: {"all": "all", "-1": -1, "0": 0, "1": 1}[t], "all, 1 or 0"),
        (name == VERSION, _release, "a release like 3.9, from 0.10.1 on"),
        (isinstance(default, bool), lambda t: {"true": True, "false": False}[t], "true or false"),
        (isinstance(default, int | float) or name in WHOLE_NUMBERS, int, "a whole number"),
    ]  # fmt: skip
    if name in FILES:
        _check_file(typed, text)
    for is_so, convert, wanted in kinds:
        if is_so:
            try:
                return convert(text)
            except (ValueError, KeyError):
                raise BadInput(f"--client: {typed}={text}: it takes {wanted}") from None
    return text
