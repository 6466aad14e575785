"""Kafka's 16-byte identifiers: topic ids, directory ids, client instance ids."""

import base64
from typing import Self


class Uuid(bytes):
    """Sixteen bytes, printed as Kafka prints them: base64url without padding, 22 characters."""

    __slots__ = ()

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self).decode().rstrip("=")

    def __repr__(self) -> str:
        return f"Uuid({str(self)!r})"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The id that prints as `text`. Raises ValueError if there is none."""
        value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if len(value) != 16:
            raise ValueError(f"{text!r} is {len(value)} bytes, an id has 16")
        return cls(value)


ZERO_UUID = Uuid(16)
