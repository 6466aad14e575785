"""Kafka's versions that `message.format.version` may name, and the format each one means.

A version is written in full (`0.10.1-IV2`) or as a release (`0.10.1`, `2.8`, `3.0.1`); the
latter counts by its first two components, the first three before 1.0. Source: Kafka's
MetadataVersion and RecordVersion.
"""

from barnabas.storage.setting_types import Limit

# Release: how many internal versions it had; the oldest ones had none and no suffix.
_BEFORE_INTERNAL = ("0.8.0", "0.8.1", "0.8.2", "0.9.0")
_INTERNAL = {
    "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3, "1.0": 1, "1.1": 1, "2.0": 2,
    "2.1": 3, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 1, "2.6": 1, "2.7": 3, "2.8": 2,
    "3.0": 2, "3.1": 1, "3.2": 1, "3.3": 4, "3.4": 1, "3.5": 3, "3.6": 3, "3.7": 5,
    "3.8": 1, "3.9": 1,
}  # fmt: skip
_UNSTABLE = ("4.0-IV0", "4.0-IV1")
_FULL = (
    *_BEFORE_INTERNAL,
    *(f"{release}-IV{n}" for release, count in _INTERNAL.items() for n in range(count)),
    *_UNSTABLE,
)


def _release_of(version: str) -> str:
    parts = version.split(".")
    return ".".join(parts[: 3 if parts[0] == "0" else 2])


def _known(version: str) -> bool:
    release = _release_of(version)
    return version in _FULL or release in _INTERNAL or release in _BEFORE_INTERNAL


def magic_of(version: str) -> int:
    """The record format, 0 to 2, that Kafka of this version writes."""
    major, minor = (int(part) for part in version.split("-")[0].split(".")[:2])
    if (major, minor) < (0, 10):
        return 0
    return 1 if (major, minor) < (0, 11) else 2


def _complain(name: str, value: str) -> tuple[object, str] | None:
    return None if _known(value) else (value, f"Version {value} is not a valid version")


MESSAGE_FORMAT_VERSION = Limit(f"[{', '.join(_FULL)}]", _complain)
