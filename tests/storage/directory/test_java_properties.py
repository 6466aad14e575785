"""The .properties text of Java."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.directory import java_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("  a = b ", {"a": "b "}),
        ("a:b\nc d\ne", {"a": "b", "c": "d", "e": ""}),
        ("# comment\n! comment\n\n a=1\r\n", {"a": "1"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a\\=b=c\\\\", {"a=b": "c\\"}),
        ("a=\\u00e9\\t\\x", {"a": "é\tx"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b\\", {"a": "b"}),
    ],
)
def test_parse(text: str, expected: dict[str, str]) -> None:
    assert java_properties.parse(text) == expected


PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1)


@given(st.dictionaries(PRINTABLE.filter(lambda key: " " not in key), PRINTABLE))
def test_what_is_built_is_parsed(properties: dict[str, str]) -> None:
    text = java_properties.build(properties, "Fri Nov 27 23:45:51 UTC 2026")
    assert java_properties.parse(text) == properties
