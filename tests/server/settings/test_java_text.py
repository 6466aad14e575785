"""Values as Java writes them."""

import pytest

from barnabas.server.settings.definitions.limits import KINDS
from barnabas.server.settings.java_text import to_text


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("boolean", True, "true"), ("list", ("a", "b"), "a,b"), ("list", (), ""),
        ("int", 5, "5"), ("string", None, None), ("double", 0.5, "0.5"), ("double", 1.0, "1.0"),
        ("double", 1.7976931348623157e308, "1.7976931348623157E308"), ("double", 1e-5, "1.0E-5"),
        ("double", 12345678.0, "1.2345678E7"), ("double", 1e7, "1.0E7"), ("double", 0.001, "0.001"),
        ("double", 9999999.0, "9999999.0"), ("double", -2.5e20, "-2.5E20"), ("double", 0.0, "0.0"),
    ],
)  # fmt: skip
def test_values_are_written_as_java_writes_them(kind: str, value: object, text: str | None) -> None:
    assert to_text(KINDS[kind], value) == text
