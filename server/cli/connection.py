"""A connection to a cluster for one command, through kafka-python.

Everything that kafka-python raises becomes one sentence.
"""

import random
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from barnabas.server.cli.answering import first_to_answer, why_unreachable
from barnabas.server.cli.client_settings import ADMIN, made, settings_for
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.whole_numbers import whole_number
from barnabas.server.core.addresses import address

LOOPBACK = ("127.0.0.1", "localhost", "::1")
KAFKA_PORT, MOST_PORT = 9092, 65_535
CONNECT_TIMEOUT_S = 2.0
BOOTSTRAP_TIMEOUT_MS = 2500
REQUEST_TIMEOUT_MS = 15_000
ANSWER_TIMEOUT_MS = 3_000  # of one broker of several
HEARSAY_S, LOOK_S = 15.0, 0.05  # until brokers have told one another


def addresses(bootstrap: str, option: str = "--bootstrap") -> list[tuple[str, int]]:
    """The brokers that an option names; BadInput for what is no address."""
    found = []
    for part in bootstrap.split(","):
        text = part.strip()
        place = host_and_port(text if ":" in text else f"{text}:{KAFKA_PORT}")
        if place is None:
            raise BadInput(f"{option}: {text!r} is not HOST:PORT, as in 127.0.0.1:{KAFKA_PORT}")
        found.append(place)
    return found


def host_and_port(text: str) -> tuple[str, int] | None:
    """The two of HOST:PORT; None for what is none."""
    host, _, port = text.rpartition(":")
    number = whole_number(port)
    if not host or not number or number > MOST_PORT:
        return None
    return host.strip("[]"), number


def check_reachable(bootstrap: str) -> None:
    """Fail at once, with the reason, when nothing listens at any of the addresses."""
    reason = ""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    for place in addresses(bootstrap):
        reason = why_unreachable(place, max(deadline - time.monotonic(), 0.2))
        if not reason:
            return
    is_here = any(host in LOOPBACK for host, _ in addresses(bootstrap))
    advice = "; `barnabas start` runs one" if is_here else ""
    raise Failure(f"no broker at {bootstrap}: {reason}{advice}")


@contextmanager
def sentences(bootstrap: str) -> Iterator[None]:
    """Turn what kafka-python raises into a Failure of one sentence."""
    errors = kafka("errors")
    try:
        yield
    except errors.KafkaConfigurationError as error:
        raise BadInput(f"--client: {text_of(error)}") from error
    except errors.UnknownBrokerIdError as error:
        unknown = text_of(error)
        raise Failure(f"there is no broker {unknown}; `barnabas cluster` lists them") from error
    except errors.NodeNotReadyError as error:
        lost = _lost_at(bootstrap)
        raise Failure(lost or _not_ready(error, bootstrap)) from error
    except (errors.KafkaTimeoutError, errors.KafkaConnectionError) as error:
        lost = _lost_at(bootstrap)
        raise Failure(
            lost or f"the broker at {bootstrap} does not answer: {text_of(error)}"
        ) from error
    except errors.IncompatibleBrokerVersion as error:
        raise Failure(f"the broker at {bootstrap} is too old for this: {text_of(error)}") from error
    except errors.KafkaError as error:
        raise Failure(text_of(error)) from error
    except struct.error as error:  # an option was checked for its sense, not for its size
        raise BadInput(f"a number has no room in Kafka's protocol: {error}") from error


def _lost_at(bootstrap: str) -> str | None:
    """Whether the brokers advertise addresses that lead nowhere: the sentence that says so."""
    from barnabas.server.cli.advertised import where_nobody_is

    return where_nobody_is(addresses(bootstrap))


def _not_ready(error: BaseException, bootstrap: str) -> str:
    """What a NodeNotReadyError means: its words are an id, a role, or of kafka-python's inside."""
    text = text_of(error)
    role = text.partition("-")[0]
    if whole_number(text) is not None:
        return f"broker {text} cannot be reached"
    if role in ("controller", "coordinator"):
        return f"the {role} cannot be reached"
    return f"no broker of the cluster at {bootstrap} can be reached"


def text_of(error: BaseException) -> str:
    """What an error says, in one line."""
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
    `bootstrap_servers` is where somebody has answered: the command's other clients begin there.
    """

    def __init__(self, admin: Any, bootstrap_servers: list[str]) -> None:
        self.admin, self.bootstrap_servers = admin, bootstrap_servers

    def send(self, request: Any, node_id: int | None = None) -> Any:
        """Send one request to a broker (any broker without a node id); its response."""
        manager = self.admin._manager
        return manager.run(manager.send, request, node_id)

    def find_who_answers(self) -> None:
        """Find a broker that is there, which is then asked whatever any broker may be.

        One that was killed, or hangs, is among the cluster's until its session ends; kafka-python
        takes any of them, and gives up when it is that one. Raises what the last one's answer
        failed with.
        """
        manager = self.admin._manager
        brokers = [broker.node_id for broker in manager.cluster.brokers()]
        random.shuffle(brokers)
        for number, node_id in enumerate(brokers if len(brokers) > 1 else (), 1):
            try:
                manager.run(manager.send, _metadata_request(), node_id, ANSWER_TIMEOUT_MS)
                manager.least_loaded_node = lambda node_id=node_id: node_id
                return
            except unreachable():
                if number == len(brokers):
                    raise

    def describe(self) -> dict[str, Any]:
        """The cluster's id, its controller and its brokers, from metadata that all releases have.

        kafka-python's `describe_cluster` fails with a KeyError where DescribeCluster is of
        version 0: before Kafka 3.7.
        """
        found: dict[str, Any] = self.send(_metadata_request()).to_dict()
        return found

    def topics(self, names: list[str] | None = None) -> dict[str, dict[str, Any]]:
        """Metadata of topics by name, of all without names; never creates one."""
        found = self.admin.describe_topics(names)
        return {topic["name"]: topic for topic in found if topic["name"] is not None}

    def topics_once_known(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """Metadata of new topics, when whoever answers has heard of them, and of leaders."""
        deadline = time.monotonic() + HEARSAY_S
        while True:
            found = self.topics(names)
            known = [each for each in found.values() if not each["error_code"]]
            leaders = [p["leader_id"] for each in known for p in each["partitions"]]
            if (len(known) == len(names) and -1 not in leaders) or time.monotonic() > deadline:
                return found
            time.sleep(LOOK_S)

    def topic(self, name: str, advice: str = "") -> dict[str, Any]:
        """Metadata of one topic, or a Failure that suggests what there is, or what to do."""
        check_topic_name(name)
        found = self.topics([name]).get(name)
        if found is None or found["error_code"]:
            raise Failure(f"there is no topic {name}{self._suggestion(name, advice)}")
        return found

    def _suggestion(self, name: str, advice: str) -> str:
        from barnabas.server.cli.failures import did_you_mean

        advice = advice or f"`barnabas topics create {name}` makes one"
        return did_you_mean(name, list(self.topics())) or f"; {advice}"


def unreachable() -> tuple[type[Exception], ...]:
    """What kafka-python raises when a broker is absent, says nothing, or does not lead (yet).

    That is what it calls retriable, and two more.
    """
    errors = kafka("errors")
    return (
        errors.RetriableError, errors.BrokerNotAvailableError, errors.KafkaTimeoutError,
        errors.OffsetNotAvailableError,
    )  # fmt: skip


def _metadata_request() -> Any:
    """Of the cluster, without topics."""
    return kafka("protocol.metadata").MetadataRequest(topics=[], allow_auto_topic_creation=False)


def check_topic_name(name: str) -> None:
    """BadInput unless it can name a topic: Kafka's rule (its Topic class)."""
    legal = all(c.isascii() and (c.isalnum() or c in "._-") for c in name)
    if not legal or not name or len(name) > 249 or name in (".", ".."):
        raise BadInput(
            f"TOPIC: {name!r} cannot name a topic; up to 249 of a-z, A-Z, 0-9, '.', '_', '-' can"
        )


@contextmanager
def connected(
    bootstrap: str, pairs: tuple[str, ...] = (), *, beside: tuple[str, ...] = ()
) -> Iterator[Cluster]:
    """A connection that is closed again; unreachable brokers and errors are one sentence.

    `beside` names the command's other clients (PRODUCER, CONSUMER), which the pairs of --client
    are for as well.
    """
    settings = common_settings(bootstrap) | {"request_timeout_ms": REQUEST_TIMEOUT_MS}
    settings |= settings_for(ADMIN, pairs, beside)
    check_reachable(bootstrap)
    places = addresses(bootstrap)
    if len(places) > 1 and (found := first_to_answer(places)):
        settings["bootstrap_servers"] = [address(*found)]
    with sentences(bootstrap):
        admin = made(ADMIN, settings)
        try:
            cluster = Cluster(admin, settings["bootstrap_servers"])
            cluster.find_who_answers()
            yield cluster
        finally:
            admin.close()


def common_settings(bootstrap: str) -> dict[str, Any]:
    """The arguments that every client of a command begins with."""
    return {
        "bootstrap_servers": bootstrap.split(","),
        "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
        "client_id": "barnabas-command",
    }
