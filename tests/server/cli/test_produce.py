"""`barnabas produce`: what lands in the topic."""

import base64
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.cli import sending
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


@pytest.mark.parametrize("options", [(), ("--key", "id")])
def test_a_byte_order_mark_is_no_part_of_a_value(run: Run, options: tuple[str, ...]) -> None:
    topic = f"marked-{len(options)}"
    run("topics", "create", topic)
    text = b"\xef\xbb\xbf" + b'{"id":1}\n{"id":2}\n'
    assert run("produce", topic, "--jsonl", "-", *options, stdin=text).code == 0
    assert [row["value"] for row in landed(run, topic)] == ['{"id":1}', '{"id":2}']


def test_a_cell_may_be_as_large_as_a_record(run: Run) -> None:
    run("topics", "create", "cells")
    cell = "x" * 300_000
    outcome = run("produce", "cells", "--csv", "-", "--value", "a", stdin=f"a,b\n{cell},\n")
    assert outcome.code == 0, outcome.stderr
    assert landed(run, "cells")[0]["value"] == cell


def test_lines_by_a_format(run: Run) -> None:
    run("topics", "create", "formed", "--partitions", "2")
    text = "1 a 1700000000000 x=1,y=\tone\n1 b 2026-03-01T00:00:00Z \ttwo%\tthree\n"
    outcome = run("produce", "formed", "-f", r"%p %k %T %h\t%s\n", stdin=text)
    assert outcome.code == 0, outcome.stderr
    first, second = landed(run, "formed")
    assert first == {
        "topic": "formed", "partition": 1, "offset": 0, "timestamp": 1_700_000_000_000,
        "key": "a", "value": "one", "headers": [["x", "1"], ["y", ""]],
    }  # fmt: skip
    assert (second["timestamp"], second["value"]) == (1_772_323_200_000, "two%\tthree")
    assert run("produce", "-t", "formed", "-f", "100%%{key}%%{value}", stdin="100%k%v\n").code == 0
    assert ("k", "v") in [(row["key"], row["value"]) for row in landed(run, "formed")]


def test_a_file_is_a_record(run: Run, tmp_path: Path) -> None:
    run("topics", "create", "whole")
    for name, data in (("a", b"one\ntwo\n"), ("b", b"\xff")):
        (tmp_path / name).write_bytes(data)
    files = ("--file", str(tmp_path / "a"), "--file", str(tmp_path / "b"))
    assert run("produce", "whole", *files, "-k", "f").code == 0
    assert [(row["key"], row["value"]) for row in landed(run, "whole")] == [
        ("f", "one\ntwo\n"), ("f", {"base64": "/w=="}),
    ]  # fmt: skip
    refused = run("produce", "whole", "--file", str(tmp_path / "c"))
    assert (refused.code, "no such file" in refused.stderr) == (2, True)


def test_short_options(run: Run) -> None:
    run("topics", "create", "short", "--partitions", "2")
    options = ("-t", "short", "-k", "K", "-H", "h=1", "-p", "1", "-z", "gzip", "-Z")
    assert run("produce", *options, stdin="v\n\n").code == 0
    assert run("produce", "short", "-K", r"\t", "-p", "1", stdin="a\tb\n").code == 0
    rows = landed(run, "short")
    assert [(row["partition"], row["key"], row["value"]) for row in rows] == [
        (1, "K", "v"), (1, "K", None), (1, "a", "b"),
    ]  # fmt: skip
    assert rows[1]["headers"] == [["h", "1"]]


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
        (("--jsonl", "-"), '{"a":1}\n{"a":\n', 2, "; before it 1 of 1 record acknowledged"),
        (("--jsonl", "-", "--key", "a"), "[1]\n", 2, "columns are taken from JSON objects only"),
        (("--jsonl", "-", "--key", "a"), '{"b":1}\n', 2, "no column a; it has b"),
        (("--key-separator", "="), "ab\n", 2, ":1: no '=' between a key and a value"),
        (("--value", "a"), "", 2, "--value: lines have no columns"),
        (("--format", "%k%s"), "", 2, "%s needs text before it"),
        (("--format", "%k:%q"), "", 2, "there is no %q to send"),
        (("--format", "text"), "", 2, "'text' has no part of a record"),
        (("--format", "%k:%s"), "a:b\nc\n", 2, "standard input:2: not like '%k:%s'"),
        (("--format", "%p:%s"), "x:b\n", 2, "'x' is not the number of a partition"),
        (("--format", "%p:%s"), "²:b\n", 2, "'²' is not the number of a partition"),
        (("--format", "%p:%s"), b"\xff:b\n", 2, "is not the number of a partition"),
        (("--format", "%p:%s"), "2147483648:b\n", 2, "is not the number of a partition"),
        (("--format", "%T:%s"), "²:b\n", 2, "'²' is no time"),
        (("--format", "%T:%s"), b"\xff:b\n", 2, "is no time"),
        (("--partition", "²"), "b\n", 2, "--partition: lines have no columns"),
        (("--csv", "-", "--format", "%s"), "", 2, "--format: is for lines"),
        (("--key-separator", "=", "--key", "k"), "", 2, "one of them"),
        (("--header", "x"), "", 2, "--header: 'x' is not NAME=VALUE"),
        (("--partition", "9"), "", 2, "--partition: strict has no partition 9, only 0 to 0"),
        (("--compression", "lz5"), "", 2, "'lz5' is not one of"),
        (("--timeout", "nan"), "x\n", 2, "--timeout: nan is not a number of seconds"),
        (("--timeout", "inf"), "x\n", 2, "--timeout: inf is not a number of seconds"),
        (("--csv", "-"), "a,b,a\n1,2,3\n", 2, "the column a is there twice"),
        (("--jsonl", "-"), "[" * 100_000, 2, ":1: JSON that is nested too deeply"),
        (("--csv", "-", "--headers", "h"), "h\n" + "[" * 100_000 + "\n", 2, "headers are like"),
        (("--jsonl", "-"), "1" * 5000, 2, ":1: not JSON: a number of too many digits"),
        (("--jsonl", "-"), b'"\xff"', 2, ":1: not JSON: not UTF-8"),
        (("--jsonl", "-", "--value", "a"), '{"a":"\\ud800"}\n', 2, "half of a surrogate pair"),
        (("--format", "%T %s"), "9223372036854775808 x\n", 2, "is no time"),
        (("--jsonl", "-", "--timestamp", "a"), '{"a":9223372036854775808}', 2, "is no time"),
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


def test_settings_of_the_producer_alone_are_taken(run: Run) -> None:
    run("topics", "create", "slowly")
    outcome = run("produce", "slowly", "--client", "linger.ms=5", "--json", stdin="a\n")
    assert (outcome.code, outcome.rows[0]["records"]) == (0, 1)
    outcome = run("consume", "slowly", "--client", "fetch.max.wait.ms=100")
    assert (outcome.code, outcome.stdout) == (0, "a\n")
    outcome = run("produce", "slowly", "--client", "lingr.ms=5", stdin="a\n")
    assert outcome.code == 2 and "did you mean linger.ms?" in outcome.stderr


def test_headers_of_one_name_are_all_sent(run: Run) -> None:
    headers = ("-H", "a=1", "-H", "b=2", "-H", "a=3")
    assert run("produce", "headed", "--create", *headers, stdin="x\n").code == 0
    (row,) = run("consume", "headed", "--json").rows
    assert row["headers"] == [["a", "1"], ["b", "2"], ["a", "3"]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            '{"partition":0,"value":"' + "x" * 2000 + '"}',
            "record 2: larger than max.request.size (1,000)",
        ),
        ('{"value":"x","partition":7}', "record 2: "),
    ],
)
def test_a_record_that_is_not_sent_is_not_waited_for_nor_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch, line: str, words: str
) -> None:
    """It was: "before it 1 of 2", after the seconds that a Ctrl-C has for last acknowledgements."""
    options = ("--partition", "partition", "--client", "max.request.size=1000", "--jsonl", "-")
    sound = '{"value":"a","partition":0}\n'
    monkeypatch.setattr(sending, "LAST_WORDS_S", 60)
    begun = time.monotonic()
    outcome = run("produce", "unsent", "--create", *options, stdin=f"{sound}{line}\n{sound}")
    assert outcome.code == 2
    assert words in outcome.stderr
    assert outcome.stderr.endswith("; before it 1 of 1 record acknowledged\n")
    alone = run("produce", "unsent", *options, stdin=f"{line}\n")
    assert (alone.code, "before it" in alone.stderr) == (2, False)
    assert time.monotonic() - begun < 60
