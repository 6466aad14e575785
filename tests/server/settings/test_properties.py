"""Java's properties files; compat-tests/config compares random ones with Java itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.settings.properties import MalformedProperties, parse_properties


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(each.name, each.value) for each in parse_properties(text.encode("latin-1"))]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("num.partitions=3", [("num.partitions", "3")]),
        ("  a : b\nc\td\n e  =  f ", [("a", "b"), ("c", "d"), ("e", "f ")]),
        ("# no\n  ! no\n\na=1 # part of the value", [("a", "1 # part of the value")]),
        ("a=1\\\n   ,2\\\r\n,3", [("a", "1,2,3")]),
        ("a=1\\\n\nb=2", [("a", "1"), ("b", "2")]),
        ("a=1\\\n#2", [("a", "1#2")]),
        ("a=1\\\\\nb=2", [("a", "1\\"), ("b", "2")]),
        (r"a\=b\:c\ d=\u00e9\t\q", [("a=b:c d", "é\tq")]),
        ("empty=\nalone\n=value", [("empty", ""), ("alone", ""), ("", "value")]),
        ("a==b", [("a", "=b")]),
        ("a=1\ra=2", [("a", "1"), ("a", "2")]),
        ("a=é", [("a", "é")]),
        ("a=1\\", [("a", "1")]),
        ("", []),
    ],
)
def test_files_as_java_reads_them(text: str, pairs: list[tuple[str, str]]) -> None:
    assert _pairs(text) == pairs


def test_every_property_knows_its_line() -> None:
    properties = parse_properties(b"# one\na=1\\\n2\n\nb=3\n")
    assert [(each.name, each.line) for each in properties] == [("a", 2), ("b", 5)]


@pytest.mark.parametrize("escape", [r"\u12", r"\u12g4", r"\u"])
def test_a_broken_unicode_escape_is_refused_with_its_line(escape: str) -> None:
    with pytest.raises(MalformedProperties, match="four hexadecimal digits") as refusal:
        parse_properties(f"ok=1\na={escape}".encode())
    assert refusal.value.line == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_what_is_no_text_is_refused_with_its_line(encoding: str) -> None:
    with pytest.raises(MalformedProperties, match="a zero byte: UTF-16, or no text") as refusal:
        parse_properties("a=1\nb=2\n".encode(encoding))
    assert refusal.value.line == 1


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


_BMP = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]))


@given(st.dictionaries(_BMP, _BMP))
def test_what_is_escaped_comes_back(properties: dict[str, str]) -> None:
    text = "\n".join(f"{_escaped(name)}={_escaped(value)}" for name, value in properties.items())
    assert _pairs(text) == list(properties.items())
