"""How secrets print: their size and nothing else."""


def redacted(value: object) -> str:
    """`<redacted, 12 bytes>` for bytes and text, `<redacted>` for anything else."""
    if value is None or value in ("", b""):
        return repr(value)
    if isinstance(value, str | bytes):
        return f"<redacted, {len(value)} {'bytes' if isinstance(value, bytes) else 'characters'}>"
    return "<redacted>"
