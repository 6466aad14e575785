"""Values as Java writes them."""

import pytest

from barnabas.server.settings.java_text import to_text
from barnabas.storage.setting_types import BOOLEAN, DOUBLE, INT, LIST, STRING, Kind


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (BOOLEAN, True, "true"), (LIST, ("a", "b"), "a,b"), (LIST, (), ""),
        (INT, 5, "5"), (STRING, None, None), (DOUBLE, 0.5, "0.5"), (DOUBLE, 1.0, "1.0"),
        (DOUBLE, 1.7976931348623157e308, "1.7976931348623157E308"), (DOUBLE, 1e-5, "1.0E-5"),
        (DOUBLE, 12345678.0, "1.2345678E7"), (DOUBLE, 1e7, "1.0E7"), (DOUBLE, 0.001, "0.001"),
        (DOUBLE, 9999999.0, "9999999.0"), (DOUBLE, -2.5e20, "-2.5E20"), (DOUBLE, 0.0, "0.0"),
    ],
)  # fmt: skip
def test_values_are_written_as_java_writes_them(
    kind: Kind, value: object, text: str | None
) -> None:
    assert to_text(kind, value) == text
