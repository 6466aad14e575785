"""`barnabas configs`."""

import pytest

from tests.server.cli.conftest import Run


def test_settings_of_a_topic_come_and_go(run: Run) -> None:
    run("topics", "create", "settled")
    assert run("configs", "get", "topic", "settled", "--json").rows == []
    assert run("configs", "set", "topic", "settled", "retention.ms=5000000").code == 0
    assert run("configs", "get", "topic", "settled", "--json").rows == [
        {
            "name": "retention.ms", "value": "5000000", "source": "topic",
            "read_only": False, "sensitive": False,
        }
    ]  # fmt: skip
    assert run("configs", "unset", "topic", "settled", "retention.ms").code == 0
    (row,) = run("configs", "get", "topic", "settled", "retention.ms", "--json").rows
    assert (row["value"], row["source"]) == ("604800000", "default")
    assert len(run("configs", "get", "topic", "settled", "--all", "--json").rows) > 20


def test_settings_of_one_broker_and_of_all(run: Run) -> None:
    assert run("configs", "set", "broker", "default", "log.cleaner.threads=2").code == 0
    assert run("configs", "set", "broker", "0", "log.cleaner.backoff.ms=9000").code == 0
    rows = {row["name"]: row for row in run("configs", "get", "broker", "0", "--json").rows}
    assert rows["log.cleaner.threads"]["source"] == "cluster"
    assert rows["log.cleaner.backoff.ms"]["source"] == "broker"
    assert run("configs", "unset", "broker", "default", "log.cleaner.threads").code == 0
    assert run("configs", "unset", "broker", "0", "log.cleaner.backoff.ms").code == 0
    assert run("configs", "get", "broker", "0", "--json").rows == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("get", "topik", "x"), 2, "'topik' is not one of"),
        (("get", "broker", "x"), 2, "'x' is not the id of a broker"),
        (("get", "topic", "nowhere"), 1, "there is no topic nowhere"),
        (("get", "topic", "hard", "retention.mss"), 1, "did you mean retention.ms?"),
        (("set", "topic", "hard", "retention.ms"), 2, "'retention.ms' is not NAME=VALUE"),
        (("set", "topic", "hard", "retention.ms=soon"), 1, "retention.ms"),
        (("unset", "topic", "hard", "retention.mss"), 1, "did you mean retention.ms?"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    run: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    run("topics", "create", "hard", "--if-not-exists")
    outcome = run("configs", *arguments)
    assert outcome.code == code
    assert words in outcome.stderr
    assert outcome.is_one_sentence()


@pytest.mark.parametrize("kind", ["broker", "broker-logger"])
def test_a_broker_that_is_not_there(run: Run, kind: str) -> None:
    outcome = run("configs", "get", kind, "7")
    assert outcome.code == 1
    assert outcome.stderr == "barnabas: there is no broker 7; `barnabas cluster` lists them\n"
