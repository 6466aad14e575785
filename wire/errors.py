"""The three ways in which bytes can fail to be a message. Nothing else ever leaves `wire`."""

from typing import Final

ENDS_INSIDE_FIELD: Final = "the bytes end inside a field"
NOT_UTF8: Final = "text that is not UTF-8"


class ProtocolError(Exception):
    """Bytes that are no message, or a value that has no bytes.

    `path` names the place as `topics[0].partitions[1].index`; it is empty where the fast
    path found the fault in a frame too large to be worth a second look.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


class Truncated(ProtocolError):
    """The bytes end inside a field."""


class Malformed(ProtocolError):
    """A length, count, tag or text that cannot be, or a value its field cannot hold."""


class UnsupportedVersion(ProtocolError):
    """The message has no such version, or a field is set that the version cannot carry."""
