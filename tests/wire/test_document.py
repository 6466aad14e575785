"""The examples of docs/wire.md are true: its Python runs, its hex is read and written again."""

from __future__ import annotations

import ast
import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "wire.md"
NOTHING_RAISED = ast.parse("raise AssertionError('nothing was raised')").body


def example(name: str) -> bytes:
    """The bytes of the fenced block ```hex <name>; what follows a | explains."""
    block = re.search(rf"^```hex {name}\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)
    assert block, name
    return bytes.fromhex("".join(line.split("|")[0] for line in block[1].splitlines()))


def programs() -> list[ast.Module]:
    """The blocks of Python; a `try` in them must raise."""
    text, found = DOCUMENT.read_text(), []
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        line = text.count("\n", 0, block.start(1))
        found.append(ast.parse("\n" * line + block[1], str(DOCUMENT)))
    for node in (node for each in found for node in each.body):
        if isinstance(node, ast.Try):
            node.orelse = NOTHING_RAISED
    return found


def test_every_example() -> None:
    names = {
        "__name__": "document",
        "request_frame": example("request"),
        "telegram_bytes": example("telegram"),
    }
    blocks = programs()
    assert len(blocks) == 9
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), names)


def test_every_file_it_names_is_there() -> None:
    root, text = DOCUMENT.parents[1], DOCUMENT.read_text()
    named = re.findall(r"`((?:tests|scripts|docs|wire|compat-tests)/[^`< ]+)[` ]", text)
    assert len(named) > 5
    assert [name for name in named if not (root / name).exists()] == []
