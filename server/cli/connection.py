"""A connection to a cluster for one command, through kafka-python.

kafka-python takes 0.2 s to import and has no types: it is imported here, when a command needs
it, and nothing of it goes further than plain dictionaries. Everything it raises becomes one
sentence.
"""

import logging
import socket
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from barnabas.server.cli.failures import BadInput, Failure

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
CONNECT_TIMEOUT_S = 2.0
BOOTSTRAP_TIMEOUT_MS = 2500
REQUEST_TIMEOUT_MS = 15_000

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

bootstrap_option: Decorator = click.option(
    "--bootstrap", envvar="BARNABAS_BOOTSTRAP", default=DEFAULT_BOOTSTRAP, show_default=True,
    show_envvar=True, metavar="HOST:PORT[,…]", help="A broker of the cluster, or several.",
)  # fmt: skip
client_option: Decorator = click.option(
    "--client", "client_settings", multiple=True, metavar="NAME=VALUE",
    help="A setting of the client, such as security.protocol=SASL_SSL.",
)  # fmt: skip
json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="One JSON object per line, with stable keys."
)


def kafka(module: str = "") -> Any:
    """kafka-python, or a module of it."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    with warnings.catch_warnings():  # it reads its schemas in a way that Python has deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(f"kafka.{module}" if module else "kafka")


def addresses(bootstrap: str) -> list[tuple[str, int]]:
    """The brokers that --bootstrap names; BadInput for what is no address."""
    found = []
    for part in bootstrap.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not colon:
            host, port = part.strip(), "9092"
        if not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise BadInput(f"--bootstrap: {part.strip()!r} is not HOST:PORT, as in 127.0.0.1:9092")
        found.append((host.strip("[]"), int(port)))
    return found


def check_reachable(bootstrap: str) -> None:
    """Fail at once, with the reason, when nothing listens at any of the addresses."""
    reason = ""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    for address in addresses(bootstrap):
        try:
            left_s = max(deadline - time.monotonic(), 0.2)
            socket.create_connection(address, timeout=left_s).close()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
        else:
            return
    raise Failure(f"no broker at {bootstrap}: {reason}; `barnabas start` runs one")


def client_settings_of(bootstrap: str, pairs: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of kafka-python's clients, from --bootstrap and --client NAME=VALUE."""
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap.split(","),
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "client_id": "barnabas-command",
    }
    for name, value in named_values(pairs, "--client").items():
        settings[name.replace(".", "_").replace("-", "_")] = _typed(value)
    return settings


def named_values(pairs: tuple[str, ...], where: str) -> dict[str, str]:
    """NAME=VALUE pairs as a dictionary; BadInput names the one that is none."""
    named = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{where}: {pair!r} is not NAME=VALUE, as in retention.ms=3600000")
        named[name.strip()] = value
    return named


def _typed(value: str) -> object:
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.isdigit() else value


@contextmanager
def sentences(bootstrap: str) -> Iterator[None]:
    """Turn what kafka-python raises into a Failure of one sentence."""
    errors = kafka("errors")
    try:
        yield
    except errors.KafkaConfigurationError as error:
        raise BadInput(f"--client: {_text(error)}") from error
    except (errors.KafkaTimeoutError, errors.KafkaConnectionError) as error:
        raise Failure(f"the broker at {bootstrap} does not answer: {_text(error)}") from error
    except errors.IncompatibleBrokerVersion as error:
        raise Failure(f"the broker at {bootstrap} is too old for this: {_text(error)}") from error
    except errors.KafkaError as error:
        raise Failure(_text(error)) from error
    except struct.error as error:  # an option was checked for its sense, not for its size
        raise BadInput(f"a number has no room in Kafka's protocol: {error}") from error


def _text(error: BaseException) -> str:
    text = str(error.args[0]) if error.args else type(error).__name__
    return " ".join(text.split()).rstrip(".")


def problem(code: int, message: str | None = None) -> str:
    """An error code as the end of a sentence: the broker's words, or Kafka's for the code."""
    kind = kafka("errors").for_code(code)
    text = message or getattr(kind, "description", "") or ""
    text = " ".join(text.split()).rstrip(".")
    name = getattr(kind, "message", kind.__name__)
    return f"{text} ({name})" if text else str(name)


class Cluster:
    """An open connection for questions and orders about the cluster.

    `admin` is kafka-python's admin client; `send` is for requests that it has no method for.
    """

    def __init__(self, admin: Any) -> None:
        self.admin = admin

    def send(self, request: Any, node_id: int | None = None) -> Any:
        """Send one request to a broker (any broker without a node id); its response."""
        manager = self.admin._manager
        return manager.run(manager.send, request, node_id)

    def describe(self) -> dict[str, Any]:
        """The cluster's id, its controller and its brokers, from metadata that all releases have.

        kafka-python's `describe_cluster` fails with a KeyError where DescribeCluster is of
        version 0: before Kafka 3.7.
        """
        request = kafka("protocol.metadata").MetadataRequest(
            topics=[], allow_auto_topic_creation=False
        )
        found: dict[str, Any] = self.send(request).to_dict()
        return found

    def topics(self, names: list[str] | None = None) -> dict[str, dict[str, Any]]:
        """Metadata of topics by name, of all without names; never creates one."""
        found = self.admin.describe_topics(names)
        return {topic["name"]: topic for topic in found if topic["name"] is not None}

    def topic(self, name: str) -> dict[str, Any]:
        """Metadata of one topic, or a Failure that suggests what there is."""
        check_topic_name(name)
        found = self.topics([name]).get(name)
        if found is None or found["error_code"]:
            raise Failure(f"there is no topic {name}{self._suggestion(name)}")
        return found

    def _suggestion(self, name: str) -> str:
        from barnabas.server.cli.failures import did_you_mean

        return did_you_mean(name, list(self.topics())) or (
            f"; `barnabas topics create {name}` makes one"
        )


def check_topic_name(name: str) -> None:
    """BadInput unless it can name a topic: Kafka's rule (its Topic class)."""
    legal = all(c.isascii() and (c.isalnum() or c in "._-") for c in name)
    if not legal or not name or len(name) > 249 or name in (".", ".."):
        raise BadInput(
            f"TOPIC: {name!r} cannot name a topic; up to 249 of a-z, A-Z, 0-9, '.', '_', '-' can"
        )


@contextmanager
def connected(bootstrap: str, pairs: tuple[str, ...] = ()) -> Iterator[Cluster]:
    """A connection that is closed again; unreachable brokers and errors are one sentence."""
    settings = client_settings_of(bootstrap, pairs)
    check_reachable(bootstrap)
    with sentences(bootstrap):
        client = kafka("admin").KafkaAdminClient
        admin = client(**settings, request_timeout_ms=REQUEST_TIMEOUT_MS)
        try:
            yield Cluster(admin)
        finally:
            admin.close()
