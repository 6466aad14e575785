"""How keys and values are shown."""

import pytest

from barnabas.server.cli.log_tools.formats import Format, formatted


@pytest.mark.parametrize(
    ("data", "how", "shown"),
    [
        (None, Format.HEX, None),
        (b"", Format.AUTO, ""),
        ("clé\n".encode(), Format.AUTO, "clé\n"),
        (b"\xff\x00", Format.AUTO, {"base64": "/wA="}),
        (b"a\x00b", Format.AUTO, {"base64": "YQBi"}),
        (b"a\xffb", Format.TEXT, "a\\xffb"),
        (b"\x01\xff", Format.HEX, "01ff"),
        (b"\x01\xff", Format.BASE64, "Af8="),
        (b'{"a":[1,null]}', Format.JSON, {"a": [1, None]}),
        (b"no json", Format.JSON, "no json"),
        (b"\xff", Format.JSON, {"base64": "/w=="}),
        (b"12345", Format.SIZE, 5),
    ],
)
def test_formatted(data: bytes | None, how: Format, shown: object) -> None:
    assert formatted(data, how) == shown
