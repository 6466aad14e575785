"""`--client NAME=VALUE`: each setting reaches the client that it is for, or is refused in words."""

from pathlib import Path

import pytest

from barnabas.server.cli.client_settings import ADMIN, CONSUMER, PRODUCER, settings_for
from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run, run_apart

LARGE_BYTES = 3_000_000
AUTHORITIES = str(Path(__file__).with_name("authorities.pem"))
"""A certificate of nobody, good for ever, whose key is gone."""


@pytest.mark.parametrize(
    ("client", "also", "pair", "expected"),
    [
        (PRODUCER, (ADMIN,), "linger.ms=5", {"linger_ms": 5}),
        (ADMIN, (PRODUCER,), "linger.ms=5", {}),
        (ADMIN, (CONSUMER,), "request.timeout.ms=9000", {"request_timeout_ms": 9000}),
        (CONSUMER, (ADMIN,), "check.crcs=false", {"check_crcs": False}),
        (PRODUCER, (ADMIN,), "acks=all", {"acks": "all"}),
        (ADMIN, (), "sasl.username=ann", {"sasl_plain_username": "ann"}),
        (ADMIN, (), f"ssl.ca.location={AUTHORITIES}", {"ssl_cafile": AUTHORITIES}),
        (ADMIN, (), "api.version=3.9", {"api_version": (3, 9)}),
    ],
)
def test_who_gets_what(
    client: str, also: tuple[str, ...], pair: str, expected: dict[str, object]
) -> None:
    assert settings_for(client, (pair,), also) == expected


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("produce", "set", "--client", "max.request.size=2000000"), "x\n"),
        (("produce", "set", "--client", "request.timeout.ms=20000"), "x\n"),
        (("produce", "set", "--client", "request.timeout.ms=300000"), "x\n"),
        (("produce", "set", "--client", "linger.ms=5"), "x\n"),
        (("produce", "set", "--client", "acks=1"), "x\n"),
        (("produce", "set", "--client", "compression.type=zstd"), "x\n"),
        (("consume", "set", "--client", "request.timeout.ms=40000"), ""),
        (("consume", "set", "--client", "fetch.max.bytes=1000000"), ""),
        (("topics", "list", "--client", "request.timeout.ms=20000"), ""),
    ],
)
def test_settings_that_are_taken(run: Run, arguments: tuple[str, ...], stdin: str) -> None:
    run("topics", "create", "set", "--if-not-exists")
    run("produce", "set", stdin="there is something to consume\n")
    outcome = run(*arguments, stdin=stdin)
    assert outcome.code == 0, outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("topics", "list", "--client", "linger.ms=5"),
         "linger.ms is a setting of producers, and this command runs none"),
        (("consume", "set", "--client", "linger.mss=5"), "there is no setting linger.mss"),
        (("produce", "set", "--client", "linger.mss=5"), "(did you mean linger.ms?)"),
        (("produce", "set", "--client", "linger.ms=soon"),
         "linger.ms=soon: it takes a whole number"),
        (("consume", "set", "--client", "check.crcs=perhaps"), "it takes true or false"),
        (("produce", "set", "--client", "security.protocol=SASL_SLL"),
         "it takes one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (("consume", "set", "-X", "security.protocol=SSL", "-X", "ssl.ca.location=/no/ca.pem"),
         "--client: ssl.ca.location=/no/ca.pem: no such file or directory"),
        (("consume", "set", "-X", "ssl.key.location=/tmp"), "/tmp: is a directory"),
        (("topics", "list", "-X", f"ssl.ca.location={__file__}"), "holds no certificates in PEM"),
        (("produce", "set", "-X", f"ssl.truststore.location={__file__}"),
         "test_client_settings.py holds no certificates in PEM"),
        (("topics", "list", "-X", f"ssl.certificate.location={AUTHORITIES}"),
         "and the same file hold no certificate and its key in PEM"),
        (("consume", "set", "-X", "api.version=0.8"), "it takes a release like 3.9, from 0.10.1"),
        (("consume", "set", "--client", "bootstrap.servers=x"), "is what --bootstrap says"),
        (("consume", "set", "--client", "fetch.max.wait.ms=90000"), "request_timeout_ms"),
    ],
)  # fmt: skip
def test_settings_that_are_refused(run: Run, arguments: tuple[str, ...], words: str) -> None:
    run("topics", "create", "set", "--if-not-exists")
    run("produce", "set", stdin="there is something to consume\n")
    outcome = run(*arguments, stdin="x\n")
    assert outcome.code == 2
    assert words in outcome.stderr
    assert outcome.is_one_sentence()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("--client", "acks=1", "--client", "enable.idempotence=true"), "incompatible"),
        (("--client", "client.dns.lookup=never"), "client_dns_lookup must be one of"),
    ],
)
def test_what_the_client_itself_refuses(
    broker: Broker, settings: tuple[str, ...], words: str
) -> None:
    run_apart(broker.bootstrap_servers)("topics", "create", "apart", "--if-not-exists")
    outcome = run_apart(broker.bootstrap_servers)("produce", "apart", *settings, stdin="x\n")
    assert (outcome.code, words in outcome.stderr) == (2, True)
    assert outcome.is_one_sentence()


def test_a_large_record_where_the_topic_takes_it(broker: Broker, run: Run) -> None:
    large = "x" * LARGE_BYTES
    run("topics", "create", "large", "--set", f"max.message.bytes={LARGE_BYTES + 1000}")
    outcome = run("produce", "large", stdin=f"small\n{large}\nsmall\n")
    assert outcome.code == 0, outcome.stderr
    assert run("consume", "large").stdout == f"small\n{large}\nsmall\n"
    run("topics", "create", "narrow")
    outcome = run("produce", "narrow", stdin=f"small\n{large}\n")
    assert outcome.code == 1
    assert "the broker refused a record for narrow: " in outcome.stderr
    assert "; 1 of 2 records acknowledged" in outcome.stderr
    limited = run("produce", "large", "--client", "max.request.size=1000000", stdin=large)
    assert limited.code == 2
    assert "record 1: larger than max.request.size (1,000,000)" in limited.stderr
