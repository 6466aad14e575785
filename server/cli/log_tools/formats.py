"""How the bytes of keys, values and header values are shown, and the times of records."""

import json
from base64 import b64encode
from datetime import UTC, datetime
from enum import StrEnum


class Format(StrEnum):
    """A way to show bytes."""

    AUTO = "auto"
    """Text if it is printable UTF-8, otherwise {"base64": …}."""
    TEXT = "text"
    """UTF-8; what is not becomes \\xNN."""
    HEX = "hex"
    BASE64 = "base64"
    JSON = "json"
    """As the JSON that it is; as `auto` if it is none."""
    SIZE = "size"
    """The number of bytes only."""


def formatted(data: bytes | None, how: Format) -> object:
    """Bytes as JSON can hold them; null stays null."""
    if data is None:
        return None
    match how:
        case Format.TEXT:
            return data.decode("utf-8", "backslashreplace")
        case Format.HEX:
            return data.hex()
        case Format.BASE64:
            return b64encode(data).decode()
        case Format.SIZE:
            return len(data)
        case Format.JSON:
            return _as_json(data)
        case Format.AUTO:
            return _as_text(data)


def time_text(timestamp_ms: int) -> str:
    """A timestamp in UTC; a dash for none, the number where it is no date."""
    if timestamp_ms == -1:
        return "-"
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{timestamp_ms} ms"
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03}Z"


def _as_json(data: bytes) -> object:
    """What it says, unless that cannot be printed: half of a surrogate pair, a nest too deep.

    A row holds it three brackets deep, and has fewer frames beneath it than this has.
    """
    try:
        found = json.loads(data)
        json.dumps([[[found]]], ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _as_text(data)
    return found


def _as_text(data: bytes) -> object:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
    if text.isprintable() or all(c.isprintable() or c in "\t\r\n" for c in text):
        return text
    return {"base64": b64encode(data).decode()}
