"""What pyproject.toml lists by hand: the packages, and the modules that setup.py compiles."""

import inspect
import pkgutil
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
COMPILED = tuple(f"barnabas.{name}" for name in TOOL["barnabas"]["compiled"])


def test_every_folder_with_an_init_is_packaged() -> None:
    on_disk = {
        "barnabas." + ".".join(init.parent.relative_to(ROOT).parts)
        for top in ("wire", "storage", "server", "pipeline")
        for init in (ROOT / top).rglob("__init__.py")
        if init.parent != ROOT / "server" / "entry"
    }
    assert on_disk | {"barnabas"} == set(TOOL["setuptools"]["packages"])


def test_what_is_compiled_exists_and_stands_in_order() -> None:
    names = TOOL["barnabas"]["compiled"]
    rooms = ["wire", "storage", "server"]
    assert names == sorted(names, key=lambda name: (rooms.index(name.split(".")[0]), name))
    for name in names:
        place = ROOT / name.replace(".", "/")
        assert place.is_dir() or place.with_suffix(".py").is_file(), name


def test_compiled_classes_derive_from_compiled_ones_and_so_does_what_derives_from_them() -> None:
    """A base that is not compiled makes a class slow, and one derived from it cannot be made."""
    for cls in classes():
        if issubclass(cls, BaseException):
            continue
        for base in cls.__bases__:
            if base.__module__.startswith("barnabas."):
                assert is_compiled(cls) == is_compiled(base), f"{cls} derives from {base}"


def is_compiled(cls: type) -> bool:
    module = cls.__module__
    return any(module == name or module.startswith(f"{name}.") for name in COMPILED)


def classes() -> Iterator[type]:
    """Every class of the package."""
    for package in TOOL["setuptools"]["packages"][1:]:
        for found in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            if not found.name.endswith("__main__"):
                for _, cls in inspect.getmembers(import_module(found.name), inspect.isclass):
                    if cls.__module__ == found.name:
                        yield cls
