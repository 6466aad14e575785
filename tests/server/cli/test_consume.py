"""`barnabas consume`: which records, in which form."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.server.cli.conftest import Run

FIRST_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z; one record every minute after it
COUNT = 30


@pytest.fixture
def minutes(run: Run) -> str:
    """A topic of two partitions, odd numbers in the second; kept, though they are old."""
    create = ("topics", "create", "minutes", "--partitions", "2", "--set", "retention.ms=-1")
    if run(*create).code == 0:
        for partition in (0, 1):
            rows = ({"n": n, "at": FIRST_MS + 60_000 * n} for n in range(partition, COUNT, 2))
            text = "".join(json.dumps(row) + "\n" for row in rows)
            options = ("--key", "n", "--value", "n", "--timestamp", "at", "--jsonl", "-")
            outcome = run(
                "produce", "minutes", "--partition", str(partition), "--header", "h=1",
                *options, stdin=text,
            )  # fmt: skip
            assert outcome.code == 0, outcome.stderr
    return "minutes"


def numbers(text: str) -> list[int]:
    return sorted(int(line) for line in text.split())


def test_all_of_it_in_order_per_partition(run: Run, minutes: str) -> None:
    lines = run("consume", minutes).stdout.splitlines()
    assert numbers("\n".join(lines)) == list(range(COUNT))
    assert [n for n in lines if int(n) % 2] == [str(n) for n in range(1, COUNT, 2)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--from", "10", "--to", "12"), [20, 21, 22, 23]),
        (("--from", "-2"), [26, 27, 28, 29]),
        (("--from", "-2", "--partition", "1"), [27, 29]),
        (("--from", "2026-03-01T00:27:00Z"), [27, 28, 29]),
        (("--to", "2026-03-01T01:02:00+01:00"), [0, 1]),
        (("--from", f"@{FIRST_MS + 5 * 60_000}", "--to", f"@{FIRST_MS + 8 * 60_000}"), [5, 6, 7]),
        (("--from", "latest"), []),
        (("--from", "now"), []),
        (("--from", "99"), []),
        (("--from", "1969-01-01", "--max", "1", "-p", "0"), [0]),
        (("--from", "1969-12-31T23:59:59.999Z", "--max", "1", "-p", "0"), [0]),
        (("--from", "3000w", "--max", "1", "-p", "0"), [0]),
        (("--to", "1969-12-31T23:59:59.999Z"), []),
        (("--from", "9", "--to", "3"), []),
        (("--from", "3", "--partition", "0", "--max", "2"), [6, 8]),
        (("-o", "3", "-p", "0", "-n", "2"), [6, 8]),
        (("--offset", "3", "-p", "0", "-c", "2", "-e"), [6, 8]),
        (("-o", "end"), []),
        (("-o", "beginning", "-p", "1", "--max-messages", "1"), [1]),
        (("-o", f"s@{FIRST_MS + 5 * 60_000}", "-o", f"e@{FIRST_MS + 7 * 60_000}"), [5, 6]),
        (("--tail", "3"), [27, 28, 29]),
        (("--tail", "3", "--to", "2026-03-01T00:05:00Z"), [2, 3, 4]),
    ],
)
def test_from_one_position_to_another(
    run: Run, minutes: str, arguments: tuple[str, ...], expected: list[int]
) -> None:
    outcome = run("consume", minutes, *arguments)
    assert outcome.code == 0
    assert numbers(outcome.stdout) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "30"), "no records from 30 to the present end\n"),
        (("--from", "20", "--to", "5"), "no records from 20 to 5\n"),
        (("--from", "latest"), "no records from latest to the present end\n"),
    ],
)
def test_where_nothing_is_to_be_read_it_is_said(
    run: Run, minutes: str, arguments: tuple[str, ...], words: str
) -> None:
    outcome = run("consume", minutes, *arguments)
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "", words)


def test_the_tail_is_in_order_of_time(run: Run, minutes: str) -> None:
    assert run("consume", minutes, "--tail", "4").stdout == "26\n27\n28\n29\n"


def test_several_topics_and_patterns(run: Run) -> None:
    for name in ("many-a", "many-b", "many-c"):
        run("produce", name, "--create", stdin=f"{name}\n")

    def lines(*names: str) -> list[str]:
        return sorted(run("consume", *names).stdout.split())

    assert lines("many-a", "many-c") == ["many-a", "many-c"]
    assert lines("many-[ab]") == lines("/many-[ab]/") == ["many-a", "many-b"]
    assert lines("-t", "many-c", "many-?") == ["many-a", "many-b", "many-c"]


def test_a_file_a_record(run: Run, minutes: str, tmp_path: Path) -> None:
    run("produce", "filed", "--create", "--jsonl", "-", "--key", "k", "--value", "v",
        stdin='{"k":"a","v":{"base64":"/wA="}}\n{"k":"b","v":null}\n')  # fmt: skip
    outcome = run("consume", "filed", "--files", str(tmp_path / "new"))
    assert (outcome.stdout, outcome.stderr) == ("", f"2 files in {tmp_path / 'new'}\n")
    assert (tmp_path / "new" / "filed-0-0").read_bytes() == b"\xff\0"
    assert (tmp_path / "new" / "filed-0-1").read_bytes() == b""
    run("consume", "filed", "--files", str(tmp_path), "--format", "%k")
    assert (tmp_path / "filed-0-0").read_bytes() == b"a"
    refused = run("consume", "filed", "--files", "/proc/none")
    assert (refused.code, refused.is_one_sentence()) == (2, True)


def test_keys_with_a_separator(run: Run, minutes: str) -> None:
    one = ("--partition", "1", "--from", "3", "--max", "1")
    assert run("consume", minutes, *one, "-K", r"\t").stdout == "7\t7\n"
    assert run("consume", minutes, *one, "-K", ": ", "--keys", "hex").stdout == "37: 7\n"


@pytest.mark.parametrize(("keys", "printed"), [("auto", b"7\xff{7\n"), ("hex", b"37\xff{7\n")])
def test_a_separator_is_bytes(
    run: Run, minutes: str, tmp_path: Path, keys: str, printed: bytes
) -> None:
    options = ("--partition", "1", "--from", "3", "--max", "1", "--files", str(tmp_path))
    assert run("consume", minutes, *options, "-K", r"\xff{", "--keys", keys).code == 0
    assert (tmp_path / "minutes-1-3").read_bytes() == printed


@pytest.mark.parametrize("form", ["value", "key-value", "full", "json", "{value}", r"%s\n"])
def test_no_record_stops_a_reader(run: Run, form: str) -> None:
    values = ['"\\ud800"', "[" * 200_000, "[" * 970 + "]" * 970, "9" * 5000]
    if run("topics", "create", "odd").code == 0:
        lines = "".join(f"{value}\n" for value in values)
        assert run("produce", "odd", stdin=lines).code == 0
        last = f"{(1 << 63) - 1} last\n"
        assert run("produce", "odd", "--format", "%T %s", stdin=last).code == 0
    outcome = run("consume", "odd", "--values", "json", "--format", form)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert len(outcome.stdout.splitlines()) == len(values) + 1
    assert "last" in outcome.stdout.splitlines()[-1]


def test_as_a_member_of_a_group(run: Run) -> None:
    run("topics", "create", "shared", "--partitions", "3")
    run("produce", "shared", stdin="".join(f"{n}\n" for n in range(20)))
    first = run("consume", "shared", "--group", "readers", "--max", "7").stdout.split()
    assert len(first) == 7
    (*rows,) = run("groups", "describe", "readers", "--json").rows
    assert sum(row["committed"] for row in rows if row["committed"]) == 7
    rest = run("consume", "shared", "-g", "readers").stdout.split()
    assert sorted(map(int, first + rest)) == list(range(20))
    assert run("consume", "shared", "-G", "readers").stdout == ""
    run("produce", "shared", stdin="new\n")
    assert run("consume", "shar*", "--group", "readers").stdout == "new\n"
    late = run("consume", "shared", "--group", "late", "--from", "latest")
    assert (late.code, late.stdout) == (0, "")


def test_a_limit_over_both_partitions(run: Run, minutes: str) -> None:
    assert len(run("consume", minutes, "--max", "20").stdout.split()) == 20


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("value", "7\n"),
        ("key-value", "7\t7\n"),
        ("full", "1:3  2026-03-01T00:07:00.000Z  7 = 7  h:1\n"),
        ("{topic}-{partition}\\t{offset}: {value}", "minutes-1\t3: 7\n"),
        ("{headers.h}|{headers.none}", "1|\n"),
        (
            r"%t %p %o %k %s %h %T %K %S%%\x41\n",
            f"minutes 1 3 7 7 h=1 {FIRST_MS + 7 * 60_000} 1 1%A\n",
        ),
        ("%s", "7"),
        ("{timestamp} {headers}", f'{FIRST_MS + 7 * 60_000} [["h","1"]]\n'),
    ],
)
def test_formats(run: Run, minutes: str, form: str, expected: str) -> None:
    one = ("--partition", "1", "--from", "3", "--max", "1")
    assert run("consume", minutes, *one, "--format", form).stdout == expected


def test_json_and_how_bytes_show(run: Run, minutes: str) -> None:
    one = ("--partition", "1", "--from", "3", "--max", "1", "--json")
    (row,) = run("consume", minutes, *one, "--keys", "hex", "--values", "json").rows
    assert row == {
        "topic": "minutes", "partition": 1, "offset": 3, "timestamp": FIRST_MS + 7 * 60_000,
        "key": "37", "value": 7, "headers": [["h", 1]],
    }  # fmt: skip


def test_what_is_no_text_is_base64_in_json(run: Run) -> None:
    run("produce", "bytes", "--create", stdin=b"\xff\x00\n")
    assert run("consume", "bytes", "--json").rows[0]["value"] == {"base64": "/wA="}


def test_a_time_without_an_offset_is_local(run: Run, minutes: str) -> None:
    local = datetime.fromtimestamp((FIRST_MS + 29 * 60_000) / 1000, UTC).astimezone()
    text = f"{local:%Y-%m-%dT%H:%M}"
    assert numbers(run("consume", minutes, "--from", text).stdout) == [29]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("minuts",), 1, "did you mean minutes?"),
        (("minutes", "--from", "soon"), 2, "--from: 'soon' is no position; earliest, latest,"),
        (("minutes", "--to", "2026-13-01"), 2, "--to: '2026-13-01' is no position"),
        (("minutes", "--from", "0001-01-01"), 2, "'0001-01-01' is no position"),
        (("minutes", "--from", "²"), 2, "'²' is no position"),
        (("minutes", "--from", "1" * 5000), 2, "is no position"),
        (("minutes", "--follow", "--to", "3"), 2, "only one of them"),
        (("minutes", "--format", "jsn"), 2, "did you mean json?"),
        (("minutes", "--format", "{ofset}"), 2, "did you mean offset?"),
        (("minutes", "--format", "{header.h}"), 2, "did you mean headers?"),
        (("minutes", "--format", "{key"), 2, "'{key' has no part of a record"),
        (("minutes", "--format", "{offset:>5}"), 2, "has no part of a record"),
        (("minutes", "--format", "%q"), 2, "there is no %q"),
        (("minutes", "--format", "%s %"), 2, "there is no %;"),
        (("minutes", "--tail", "1", "--max", "1"), 2, "only one of them"),
        (("minutes", "--group", "g", "--to", "3"), 2, "are for reading without a group"),
        (("minutes", "--group", "g", "--from", "3"), 2, "--from is earliest or latest there"),
        (("minutes", "--group", ""), 2, "--group: '' is no group"),
        (("minutes", "--from", "1", "--from", "2"), 2, "one position, not 1 and 2"),
        (("minutez-*",), 1, "no topic is like minutez-*"),
        (("/minu(/",), 2, "'/minu(/' is no pattern"),
        ((), 2, "which TOPIC?"),
        (("minutes", "--partition", "2"), 2, "no partition 2, only 0 to 1"),
        (("minutes", "--max", "0"), 2, "--max"),
        (("minutes", "--values", "protobuf"), 2, "'protobuf' is not one of"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    run: Run, minutes: str, arguments: tuple[str, ...], code: int, words: str
) -> None:
    outcome = run("consume", *arguments)
    assert outcome.code == code
    assert words in outcome.stderr
    assert outcome.is_one_sentence()
