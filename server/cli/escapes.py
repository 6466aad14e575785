r"""Escapes that shells leave in place: \t \n \r \0 \\ \xNN, as kcat takes them."""

import re

_SHORT = {"t": b"\t", "n": b"\n", "r": b"\r", "0": b"\0", "\\": b"\\"}


def unescaped(text: str) -> bytes:
    """The bytes that a text with escapes stands for; what is no escape stays as it is."""

    def replaced(found: re.Match[bytes]) -> bytes:
        if found[1]:
            return bytes([int(found[1], 16)])
        return _SHORT[found[2].decode()]

    data = text.encode("utf-8", "surrogateescape")
    return re.sub(rb"\\(?:x([0-9a-fA-F]{2})|([tnr0\\]))", replaced, data)
