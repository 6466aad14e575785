"""Values of settings as Java writes them."""

from typing import Any

from barnabas.storage.setting_types import Kind


def to_text(kind: Kind, value: Any) -> str | None:
    """A typed value as Java prints it."""
    if value is None:
        return None
    if kind.name == "BOOLEAN":
        return "true" if value else "false"
    if kind.name == "LIST":
        return ",".join(value)
    if kind.name == "DOUBLE":
        return _java_double(value)
    return str(value)


def _java_double(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    exponent = int(f"{value:e}".partition("e")[2])
    digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
