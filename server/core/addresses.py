"""Addresses as people and clients write them: HOST:PORT, IPv6 in brackets."""

from typing import Final

LOCAL: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""What to connect to on this machine where every interface is listened on."""


def address(host: str, port: int) -> str:
    """HOST:PORT, or [HOST]:PORT."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def local_address(host: str, port: int) -> str:
    """What a client on this machine connects to, for a listener on `host`."""
    return address(LOCAL.get(host, host), port)
