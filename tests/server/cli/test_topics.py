"""`barnabas topics`."""

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run


def test_a_topic_from_its_creation_to_its_end(run: Run) -> None:
    made = run("topics", "create", "life", "--partitions", "3", "--set", "retention.ms=1000000")
    assert made.code == 0
    assert "life" in made.stdout
    assert [row["topic"] for row in run("topics", "list", "--json").rows].count("life") == 1
    run("produce", "life", "--partition", "2", stdin="a\nb\n")
    described = run("topics", "describe", "life", "--json").rows
    assert [row["end_offset"] for row in described] == [0, 0, 2]
    assert described[2].pop("bytes") > 70
    assert described[2] == {
        "topic": "life", "partition": 2, "leader": 0, "replicas": [0], "in_sync": [0],
        "start_offset": 0, "end_offset": 2, "records": 2,
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
    assert lines[1].split() == ["columns", *("0",) * 8]
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
        (("delete", "zzz"), 1, "no topic zzz; `barnabas topics list` shows them all"),
        (("delete", "zzz*"), 1, "no topic is like zzz*"),
        (("trim", "known", "--to", "soon"), 2, "--to: 'soon' is no position"),
        (("trim", "known", "--to", "5", "-p", "9"), 2, "known has no partition 9, only 0 to 1"),
        (("trim", "known"), 2, "missing option '--to'"),
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


def test_patterns(run: Run) -> None:
    for name in ("like-1", "like-2", "unlike"):
        run("topics", "create", name)
    assert [row["topic"] for row in run("topics", "list", "like-?", "--json").rows] == [
        "like-1", "like-2",
    ]  # fmt: skip
    assert len(run("topics", "describe", "/(un)?like.*/", "--json").rows) == 3
    planned = run("topics", "delete", "like-*", "--json")
    assert planned.rows == [{"topic": f"like-{n}", "deleted": False} for n in (1, 2)]
    assert "--yes does it" in planned.stderr
    assert len(run("topics", "delete", "like-*", "--yes", "--json").rows) == 2
    assert run("topics", "list", "like-*").code == 1
    assert run("topics", "list", "unlike").code == 0


def test_settings_in_force(run: Run) -> None:
    run("topics", "create", "-p", "2", "-c", "retention.ms=5000000", "forced")
    found = {r["name"]: r for r in run("topics", "describe", "forced", "--settings", "--json").rows}
    assert (found["retention.ms"]["value"], found["retention.ms"]["source"]) == ("5000000", "topic")
    assert found["cleanup.policy"]["value"] == "delete"


@pytest.mark.parametrize("partitions", ["1", "2"])
def test_what_is_compacted_alone_is_not_trimmed(run: Run, partitions: str) -> None:
    name = f"compacted-{partitions}"
    run("topics", "create", name, "--set", "cleanup.policy=compact", "--partitions", partitions)
    for number in range(int(partitions)):
        run("produce", name, "--key", "k", "-p", str(number), stdin="1\n")
    outcome = run("topics", "trim", name, "--to", "latest", "--yes")
    assert outcome.code == 1
    assert f"{name}: records are deleted only of topics whose cleanup.policy has" in outcome.stderr
    assert outcome.is_one_sentence()


def test_nothing_is_trimmed_where_a_topic_would_be_refused(run: Run) -> None:
    """The rest was trimmed, unsaid, and all were called refused."""
    for name, policy in (("dated", "delete"), ("keyed", "compact"), ("both", "compact,delete")):
        run("topics", "create", name, "--set", f"cleanup.policy={policy}")
        run("produce", name, "--key", "k", stdin="1\n2\n")
    trim = ("topics", "trim", "dated", "keyed", "both", "--to", "latest", "--json")
    planned = run(*trim)
    assert (planned.code, [row["done"] for row in planned.rows]) == (1, [False] * 3)
    assert planned.stderr.startswith("barnabas: keyed: records are deleted only of topics whose ")
    refused = run(*trim, "--yes")
    assert (refused.code, refused.is_one_sentence()) == (1, True)
    assert refused.stderr.startswith("barnabas: keyed: records are deleted only")
    assert refused.stderr.endswith("; nothing was deleted\n")
    assert run("consume", "dated").stdout == "1\n2\n"
    trim = ("topics", "trim", "dated", "both", "--to", "latest", "--json", "--yes")
    assert [row["done"] for row in run(*trim).rows] == [True, True]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("POLICY_VIOLATION", "refused: records are deleted only of topics whose cleanup.policy"),
        (
            "TOPIC_AUTHORIZATION_FAILED",
            "refused: Returned by the broker when the client is not authorized",
        ),
    ],
)
def test_what_the_broker_alone_refuses_is_named_beside_what_is_done(
    run: Run, broker: Broker, error: str, words: str
) -> None:
    for name in ("taken", "refused"):
        run("topics", "delete", name, "--yes")
        run("topics", "create", name, "--partitions", "2")
        for partition in ("0", "1"):
            run("produce", name, "-p", partition, stdin="1\n")
    fault = broker.faults.add(
        "error", api="DELETE_RECORDS", topic="refused", error=error, times=None
    )
    outcome = run("topics", "trim", "taken", "refused", "--to", "latest", "--yes", "--json")
    fault.remove()
    done = [(row["topic"], row["done"]) for row in outcome.rows]
    assert done == [("taken", True)] * 2 + [("refused", False)] * 2
    assert outcome.code == 1
    assert outcome.stderr.startswith(f"barnabas: {words}")
    assert run("consume", "taken").stdout == ""
    assert run("consume", "refused").stdout == "1\n1\n"


def test_trimming_shows_the_plan_first(run: Run) -> None:
    run("topics", "create", "trimmed", "--partitions", "2")
    for partition in ("0", "1"):
        run("produce", "trimmed", "-p", partition, stdin="1\n2\n3\n4\n")
    trim = ("topics", "trim", "trimmed", "--json")
    assert [row["deletes"] for row in run(*trim, "--to", "1960-01-01").rows] == [0, 0]
    planned = run(*trim, "--to", "-1")
    assert "nothing is deleted yet; --yes does it" in planned.stderr
    assert planned.rows[1] == {
        "topic": "trimmed", "partition": 1, "start_offset": 0, "new_start": 3, "end_offset": 4,
        "deletes": 3, "done": False,
    }  # fmt: skip
    assert len(run("consume", "trimmed").stdout.split()) == 8
    (one,) = run(*trim, "--to", "2", "--partition", "0", "--yes").rows
    assert (one["deletes"], one["done"]) == (2, True)
    assert [row["start_offset"] for row in run("topics", "describe", "trimmed", "--json").rows] == [
        2, 0,
    ]  # fmt: skip
    assert [row["done"] for row in run(*trim, "-o", "end", "--yes").rows] == [True, True]
    assert run("consume", "trimmed").stdout == ""
    again = run(*trim, "--to", "latest")
    assert ([row["deletes"] for row in again.rows], again.stderr) == ([0, 0], "")
