"""The trust store that Java is given; compat-tests/pipeline has Java read it."""

from pathlib import Path

import pytest

from barnabas.pipeline.spark import trust


def test_the_file_is_javas_format_byte_for_byte() -> None:
    content = trust.trust_store_bytes([b"DER"])
    assert content[:-20] == (
        b"\xfe\xed\xfe\xed\x00\x00\x00\x02"  # magic, version 2
        b"\x00\x00\x00\x01"  # one entry
        b"\x00\x00\x00\x02\x00\x03ca0"  # a trusted certificate, its alias
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05X.509"  # made in 1970, its kind
        b"\x00\x00\x00\x03DER"
    )


def test_java_is_told_of_it_and_it_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "trusted_certificates", lambda: [b"one", b"two"])
    arguments = trust.java_arguments(tmp_path)
    assert trust.java_arguments(tmp_path) == arguments
    (store,) = tmp_path.iterdir()
    assert f"-Djavax.net.ssl.trustStore={store}" in arguments
    assert store.read_bytes() == trust.trust_store_bytes([b"one", b"two"])


def test_who_trusts_nobody_leaves_java_its_own_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "trusted_certificates", list)
    assert trust.java_arguments(tmp_path) == [] and not list(tmp_path.iterdir())
