"""`barnabas consume`: which records, in which form."""

import json
from datetime import UTC, datetime

import pytest

from tests.server.cli.conftest import Run

FIRST_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z; one record every minute after it
COUNT = 30


@pytest.fixture
def minutes(run: Run) -> str:
    """A topic of two partitions, odd numbers in the second."""
    if run("topics", "create", "minutes", "--partitions", "2").code == 0:
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
        (("--from", "9", "--to", "3"), []),
        (("--from", "3", "--partition", "0", "--max", "2"), [6, 8]),
    ],
)
def test_from_one_position_to_another(
    run: Run, minutes: str, arguments: tuple[str, ...], expected: list[int]
) -> None:
    outcome = run("consume", minutes, *arguments)
    assert outcome.code == 0
    assert numbers(outcome.stdout) == expected


def test_a_limit_over_both_partitions(run: Run, minutes: str) -> None:
    assert len(run("consume", minutes, "--max", "20").stdout.split()) == 20


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("value", "7\n"),
        ("key-value", "7\t7\n"),
        ("full", "1:3  2026-03-01T00:07:00.000Z  7 = 7  h:1\n"),
        ("{topic}-{partition}\\t{offset}: {value}", "minutes-1\t3: 7\n"),
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
        (("minutes", "--follow", "--to", "3"), 2, "only one of them"),
        (("minutes", "--format", "jsn"), 2, "did you mean json?"),
        (("minutes", "--format", "{ofset}"), 2, "did you mean offset?"),
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
