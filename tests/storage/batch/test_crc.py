"""The checksum is the package's own, loaded without the package."""

import subprocess
import sys

from barnabas.storage.batch.crc import crc32c


def test_known_values() -> None:
    assert crc32c(b"") == 0
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


def test_goes_on_from_a_value_and_takes_any_buffer() -> None:
    assert crc32c(memoryview(b"6789"), crc32c(bytearray(b"12345"))) == 0xE3069283


def test_import_brings_no_metadata_along() -> None:
    code = (
        "import sys; from barnabas.storage.batch.crc import crc32c; "
        "print('importlib.metadata' in sys.modules, 'argparse' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
