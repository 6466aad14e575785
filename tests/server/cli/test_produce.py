"""`barnabas produce`: what lands in the topic."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Run

TABLE = 'id,name,at\n1,"Ann, Jr.",1700000000000\n2,Bob,2026-03-01T00:00:00Z\n3,"two\nlines",\n'


def landed(run: Run, topic: str) -> list[dict[str, Any]]:
    return run("consume", topic, "--json").rows


def test_lines_from_the_standard_input(run: Run) -> None:
    run("topics", "create", "lines")
    outcome = run("produce", "lines", stdin=b"one\r\n\ntwo\nlast \xff")
    assert outcome.code == 0
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("4 records, ")
    assert [row["value"] for row in landed(run, "lines")] == [
        "one", "", "two", {"base64": base64.b64encode(b"last \xff").decode()},
    ]  # fmt: skip


def test_lines_with_keys_and_headers(run: Run) -> None:
    options = ("--key-separator", ":", "--header", "source=test", "--header", "empty=")
    assert run("produce", "keyed", "--create", *options, stdin="a:1:2\n:3\n").code == 0
    rows = landed(run, "keyed")
    assert [(row["key"], row["value"]) for row in rows] == [("a", "1:2"), ("", "3")]
    assert rows[0]["headers"] == [["source", "test"], ["empty", ""]]


def test_rows_of_a_csv_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"\xef\xbb\xbf" + TABLE.encode())
    run("topics", "create", "people")
    options = ("--key", "id", "--timestamp", "at", "--compression", "lz4", "--json")
    (summary,) = run("produce", "people", "--csv", str(path), *options).rows
    assert list(summary) == ["topic", "records", "bytes", "seconds", "records_per_second"]
    assert (summary["topic"], summary["records"]) == ("people", 3)
    rows = landed(run, "people")
    assert [row["key"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["value"] == '{"id":"1","name":"Ann, Jr.","at":"1700000000000"}'
    assert rows[2]["value"] == '{"id":"3","name":"two\\nlines","at":""}'
    assert [row["timestamp"] for row in rows[:2]] == [1_700_000_000_000, 1_772_323_200_000]


def test_one_column_of_a_tab_separated_file(run: Run) -> None:
    run("topics", "create", "tabs")
    options = ("--csv", "-", "--delimiter", "\\t", "--value", "b")
    assert run("produce", "tabs", *options, stdin="a\tb\n1\tx y\n").code == 0
    assert [row["value"] for row in landed(run, "tabs")] == ["x y"]


def test_json_lines(run: Run) -> None:
    run("topics", "create", "objects")
    text = '{"id": 7, "note": null}\n\n{"id": "é", "note": {"a": [1]}}\n'
    assert run("produce", "objects", "--jsonl", "-", "--key", "id", stdin=text).code == 0
    rows = landed(run, "objects")
    assert [row["key"] for row in rows] == ["7", "é"]
    assert rows[0]["value"] == '{"id": 7, "note": null}'
    run("topics", "create", "notes")
    options = ("--jsonl", "-", "--key", "id", "--value", "note")
    assert run("produce", "notes", *options, stdin=text).code == 0
    assert [row["value"] for row in landed(run, "notes")] == [None, '{"a":[1]}']


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_acks_and_codec(run: Run, acks: str, codec: str) -> None:
    topic = f"codec-{acks}-{codec}"
    options = ("--acks", acks, "--compression", codec, "--create")
    assert run("produce", topic, *options, stdin="1\n2\n3\n").code == 0
    assert [row["value"] for row in landed(run, topic)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        (("--csv", "-", "--key", "nam"), TABLE, 2, "no column nam (did you mean name?)"),
        (("--csv", "-"), "a,b\n1\n", 2, "standard input:2: 1 column under 2 heads"),
        (("--csv", "-"), 'a,b\n1,"2\n', 2, "not CSV: unexpected end of data"),
        (("--csv", "-"), b"a,b\n1,\xff\n", 2, "standard input:2: byte 3 is not UTF-8"),
        (("--csv", "-", "--timestamp", "a"), "a\nsoon\n", 2, "'soon' is no time"),
        (("--csv", "-", "--delimiter", ";;"), "", 2, "';;' is not one character"),
        (("--csv", "nowhere.csv"), "", 2, "nowhere.csv: no such file or directory"),
        (("--csv", "-", "--jsonl", "-"), "", 2, "only one of them"),
        (("--jsonl", "-"), '{"a":1}\n{"a":\n', 2, ":2: not JSON: expecting value at column 6"),
        (("--jsonl", "-"), '{"a":1}\n{"a":\n', 2, "what is before it was sent: 1 record"),
        (("--jsonl", "-", "--key", "a"), "[1]\n", 2, "columns are taken from JSON objects only"),
        (("--jsonl", "-", "--key", "a"), '{"b":1}\n', 2, "no column a; it has b"),
        (("--key-separator", "="), "ab\n", 2, ":1: no '=' between a key and a value"),
        (("--key", "a"), "", 2, "lines have no columns"),
        (("--header", "x"), "", 2, "--header: 'x' is not NAME=VALUE"),
        (("--partition", "9"), "", 2, "--partition: strict has no partition 9, only 0 to 0"),
        (("--compression", "lz5"), "", 2, "'lz5' is not one of"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    run: Run, arguments: tuple[str, ...], stdin: str | bytes, code: int, words: str
) -> None:
    run("topics", "create", "strict", "--if-not-exists")
    outcome = run("produce", "strict", *arguments, stdin=stdin)
    assert outcome.code == code
    assert words in outcome.stderr
    assert outcome.is_one_sentence()


def test_a_record_that_the_broker_refuses(run: Run) -> None:
    run("topics", "create", "small", "--set", "max.message.bytes=100")
    outcome = run("produce", "small", stdin="x" * 500 + "\n")
    assert outcome.code == 1
    assert "the broker refused a record for small" in outcome.stderr
    assert outcome.is_one_sentence()


def test_a_topic_that_is_not_there(run: Run) -> None:
    outcome = run("produce", "nowhere-at-all", stdin="x\n")
    assert outcome.code == 1
    assert "there is no topic nowhere-at-all" in outcome.stderr
    assert "nowhere-at-all" not in run("topics", "list").stdout


def test_batches_are_no_larger_than_the_topic_takes(run: Run) -> None:
    run("topics", "create", "narrow", "--set", "max.message.bytes=4000")
    text = "".join(f"{n:0100}\n" for n in range(500))
    outcome = run("produce", "narrow", stdin=text)
    assert outcome.code == 0, outcome.stderr
    assert [int(row["value"]) for row in landed(run, "narrow")] == list(range(500))
