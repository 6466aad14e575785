"""The package list in pyproject.toml is written by hand; this keeps it honest."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_folder_with_an_init_is_packaged() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    on_disk = {
        "barnabas." + ".".join(init.parent.relative_to(ROOT).parts)
        for top in ("wire", "storage", "server", "pipeline")
        for init in (ROOT / top).rglob("__init__.py")
        if init.parent != ROOT / "server" / "entry"
    }
    assert on_disk | {"barnabas"} == set(config["packages"])
