"""`barnabas log dump`: what it takes, what it leaves out, how it shows things and how it ends."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.legacy import build_message_set
from barnabas.storage.batch.records import Record
from tests.server.cli.log_tools.command import Row, run_log
from tests.server.cli.log_tools.written import NOW_MS, segment_files, write_log

COMMAND = [sys.executable, "-m", "barnabas", "log", "dump"]


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    directory = tmp_path / "orders-0"
    write_log(directory)
    return directory


def offsets(rows: list[Row]) -> list[int]:
    return [row["offset"] for row in rows if row["type"] == "record"]


def test_a_directory_has_its_logs_first(orders: Path) -> None:
    files = [row["file"] for row in run_log("dump", orders, "--json").rows if row["type"] == "file"]
    assert [Path(name).suffix for name in files] == [
        *[".log"] * 3, *[".index"] * 3, *[".timeindex"] * 3, ".txnindex", *[".snapshot"] * 3, "",
    ]  # fmt: skip
    assert all(name.startswith("orders-0/") for name in files)


def test_a_single_file(orders: Path) -> None:
    rows = run_log("dump", segment_files(orders, "log")[2], "--json").rows
    assert offsets(rows) == list(range(14, 22))
    assert {row["file"] for row in rows} == {"orders-0/00000000000000000014.log"}


def test_a_file_that_is_set_aside(orders: Path) -> None:
    path = segment_files(orders, "log")[0]
    path.rename(f"{path}.deleted")
    assert offsets(run_log("dump", f"{path}.deleted", "--json").rows) == list(range(7))
    assert offsets(run_log("dump", orders, "--json").rows) == list(range(7, 22))


def test_offset_and_max(orders: Path) -> None:
    rows = run_log("dump", orders, "--json", "--offset", "8", "--max", "7").rows
    assert offsets(rows) == [8, 9, 10, 11, 12, 13, 14]
    assert rows[-1]["offset"] == 14
    assert {row["file"][-6:] for row in rows} == {"07.log", "14.log"}
    inside = run_log("dump", orders, "--json", "--offset", "16", "--max", "1").rows
    assert [row["type"] for row in inside] == ["file", "batch", "record"]
    assert offsets(inside) == [16]


def test_no_records(orders: Path) -> None:
    rows = run_log("dump", orders, "--json", "--no-records", "--max", "3").rows
    assert [row["type"] for row in rows] == ["file", "batch", "batch", "batch"]


def test_formats_of_keys_and_values(orders: Path) -> None:
    path = segment_files(orders, "log")[0]
    options = ("--keys", "hex", "--values", "size", "--max", "1")
    (*_, record) = run_log("dump", path, "--json", *options).rows
    assert record == {
        "type": "record",
        "file": "orders-0/00000000000000000000.log",
        "offset": 0,
        "timestamp": NOW_MS,
        "sequence": -1,
        "key": b"key-0".hex(),
        "value": 5,
        "headers": [["h", 1]],
    }


def test_lines_for_people(orders: Path) -> None:
    lines = run_log("dump", orders).output.splitlines()
    assert lines[0] == "orders-0/00000000000000000000.log (574 bytes)"
    assert lines[1] == (
        "  batch 0, at 0, 82 bytes, format 2, 1 record, none,"
        " CreateTime 2023-11-14T22:13:20.000Z, leader epoch 0"
    )
    assert lines[2] == ('    0  2023-11-14T22:13:20.000Z  "key-0" = "value"  h:{"base64":"/w=="}')
    assert "    21  2023-11-14T22:13:20.000Z  ABORT coordinator_epoch=5" in lines
    assert "  offset 2 at 164" in lines
    assert "  2023-11-14T22:13:20.006Z up to offset 6" in lines
    assert "  aborted: producer 8 from 18 to 21, last stable offset 22" in lines
    assert "  epoch 2 from offset 10" in lines


def test_lines_for_people_about_old_formats_and_internal_topics(tmp_path: Path) -> None:
    directory = tmp_path / "__consumer_offsets-7"
    directory.mkdir()
    key, value = b"\0\2\0\1g", None
    data = build_message_set([Record(0, -1, key, value)], 0)
    data += build_batch([Record(1, NOW_MS, b"odd", b"\xff")], delete_horizon_ms=NOW_MS)
    (directory / "00000000000000000000.log").write_bytes(data)
    lines = run_log("dump", directory).output.splitlines()
    assert lines[1].endswith("format 0, none, CreateTime -")
    assert lines[2] == '    0  -  group_metadata {"group":"g"} = null'
    assert lines[3].endswith("delete horizon 2023-11-14T22:13:20.000Z")
    assert lines[4] == '    1  2023-11-14T22:13:20.000Z  "odd" = {"base64":"/w=="}'
    raw = run_log("dump", directory, "--json", "--decode-as", "none").rows
    assert raw[2]["key"] == {"base64": "AAIAAWc="}


def test_text_that_is_none_or_does_not_fit_the_terminal(tmp_path: Path) -> None:
    """A header's name need not be UTF-8, and not every output takes all of Unicode."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    headers = ((b"\xff".decode("utf-8", "surrogateescape"), "clé".encode()),)
    data = build_batch([Record(0, NOW_MS, "clé".encode(), None, headers)])
    (directory / "00000000000000000000.log").write_bytes(data)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    lines = subprocess.run(
        [*COMMAND, str(directory)], capture_output=True, check=True, env=environment
    ).stdout.splitlines()
    assert lines[2].endswith(b'  "cl\\xe9" = null  \\udcff:"cl\\xe9"')
    (*_, record) = run_log("dump", directory, "--json").rows
    assert (record["key"], record["headers"]) == ("clé", [["\udcff", "clé"]])


def test_goes_on_behind_damage_and_says_so_with_its_exit_code(orders: Path) -> None:
    log = segment_files(orders, "log")[0]
    content = bytearray(log.read_bytes())
    content[160] ^= 1
    log.write_bytes(bytes(content) + bytes(30))
    ran = run_log("dump", orders)
    assert ran.code == 1
    lines = ran.output.splitlines()
    assert lines[3].endswith("WRONG CRC")
    assert (
        lines[4] == "  damaged: position 82: offset 1: the batch does not have the CRC of its bytes"
    )
    assert [line for line in lines if "position 574" in line]
    assert "    21  2023-11-14T22:13:20.000Z  ABORT coordinator_epoch=5" in lines


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "there is no such file or directory"),
        ("notes.txt", "the name is not that of a segment"),
        ("empty", "no segment, index, snapshot or checkpoint is in this directory"),
    ],
)
def test_bad_input_is_one_sentence(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    ran = run_log("dump", tmp_path / name)
    assert (ran.code, ran.output) == (2, "")
    assert ran.errors.startswith(f"barnabas: {tmp_path / name}: {said}")
    assert ran.errors.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error(orders: Path) -> None:
    """With far more to print than a pipe holds, so that the writer is still at it."""
    log = segment_files(orders, "log")[0]
    log.write_bytes(log.read_bytes()[:574] * 400)
    process = subprocess.Popen([*COMMAND, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(20) == 0


def test_a_terminal_gets_colours_and_a_pipe_none(orders: Path) -> None:
    path = str(segment_files(orders, "log")[0])
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen([*COMMAND, path], stdout=slave, env=environment)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert process.wait(20) == 0
    assert b"\x1b[36m  batch 0, at 0" in shown
    assert b"\x1b" not in subprocess.run([*COMMAND, path], capture_output=True, check=True).stdout


def test_rich_is_only_loaded_for_a_terminal(orders: Path) -> None:
    program = (
        "import sys; from barnabas.server.cli.log import log\n"
        "try: log(['dump', sys.argv[1]])\n"
        "except SystemExit as end: code = end.code\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "sys.exit(f'loaded: {loaded}' if code or {'rich', 'asyncio', 'kazoo'} & loaded else 0)"
    )
    subprocess.run([sys.executable, "-c", program, str(orders)], check=True, capture_output=True)
