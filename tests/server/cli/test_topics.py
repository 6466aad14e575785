"""`barnabas topics`."""

import pytest

from tests.server.cli.conftest import Run


def test_a_topic_from_its_creation_to_its_end(run: Run) -> None:
    made = run("topics", "create", "life", "--partitions", "3", "--set", "retention.ms=1000000")
    assert made.code == 0
    assert "life" in made.stdout
    assert [row["topic"] for row in run("topics", "list", "--json").rows].count("life") == 1
    run("produce", "life", "--partition", "2", stdin="a\nb\n")
    described = run("topics", "describe", "life", "--json").rows
    assert [row["end_offset"] for row in described] == [0, 0, 2]
    assert described[2] == {
        "topic": "life", "partition": 2, "leader": 0, "replicas": [0], "in_sync": [0],
        "start_offset": 0, "end_offset": 2,
    }  # fmt: skip
    altered = run("topics", "alter", "life", "--partitions", "4", "--unset", "retention.ms")
    assert altered.code == 0
    assert run("configs", "get", "topic", "life", "--json").rows == []
    assert len(run("topics", "describe", "life", "--json").rows) == 4
    assert run("topics", "delete", "life").code == 0
    assert "life" not in run("topics", "list").stdout


def test_plain_columns_are_for_pipes(run: Run) -> None:
    run("topics", "create", "columns")
    lines = run("topics", "describe", "columns").stdout.splitlines()
    assert lines[0].split("  ")[0] == "TOPIC"
    assert lines[1].split() == ["columns", "0", "0", "0", "0", "0", "0"]
    assert "\x1b" not in "".join(lines)


def test_several_topics_of_which_one_is_there(run: Run) -> None:
    assert run("topics", "create", "there").code == 0
    outcome = run("topics", "create", "there", "new", "--json")
    assert outcome.code == 1
    assert [row["topic"] for row in outcome.rows] == ["new"]
    assert "there was not created" in outcome.stderr
    assert "TOPIC_ALREADY_EXISTS" in outcome.stderr
    assert run("topics", "create", "there", "--if-not-exists").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("create", "a/b"), 2, "'a/b' cannot name a topic"),
        (("create", "x", "--partitions", "0"), 2, "--partitions"),
        (("create", "x", "--partitions", str(2**31)), 2, "has no room in Kafka's protocol"),
        (("create", "x", "--set", "retention"), 2, "--set: 'retention' is not NAME=VALUE"),
        (("create", "x", "--set", "retention.mss=1"), 1, "retention.mss"),
        (("create", "x", "--replication-factor", "3"), 1, "x was not created"),
        (("alter", "known", "--set", "retention.mss=1"), 1, "did you mean retention.ms?"),
        (("alter", "known", "--partitions", "1"), 1, "INVALID_PARTITIONS"),
        (("alter", "known"), 2, "nothing to alter; say --partitions"),
        (("describe", "knwon"), 1, "did you mean known?"),
        (("describe", "zzz"), 1, "`barnabas topics create zzz` makes one"),
        (("delete", "zzz"), 1, "there is no topic zzz"),
        (("delte", "known"), 2, "did you mean delete?"),
        (("describe",), 2, "missing argument 'TOPIC…'"),
        (("describe", "known", "--jsn"), 2, "--json"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    run: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    run("topics", "create", "known", "--partitions", "2", "--if-not-exists")
    outcome = run("topics", *arguments)
    assert outcome.code == code
    assert words in outcome.stderr
    assert outcome.is_one_sentence()
