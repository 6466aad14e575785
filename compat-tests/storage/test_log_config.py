"""Topic settings beside Apache Kafka's own: names, types, defaults, limits and refusals."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.storage.log_config import SETTINGS, Setting
from barnabas.storage.setting_types import InvalidSetting

sys.path.insert(0, str(Path(__file__).parent.parent))
from oracles import java_command, require_oracle

PROBES = {
    "cleanup.policy": ["", "compact , delete", "foo", "compact,foo"],
    "compression.gzip.level": ["0", "-1", "10", "9"],
    "compression.lz4.level": ["0", "18", "17"],
    "compression.type": ["none", "GZIP", " gzip "],
    "compression.zstd.level": ["23", "-131072"],
    "follower.replication.throttled.replicas": ["*", "1:2,3:4", "1:2,x", "*,1:2", ""],
    "retention.ms": [" -1 ", "-2", "abc", "", "+5", "1_000", "99999999999999999999", "1.5"],
    "retention.bytes": ["-5"],
    "segment.bytes": ["2147483648", "13", "1048576", "1048575"],
    "preallocate": ["TRUE", " false ", "1", ""],
    "min.cleanable.dirty.ratio": ["1e-1", "1.1", "-0.1", "x", "2e0"],
    "message.timestamp.type": ["createtime", "LogAppendTime"],
    "max.message.bytes": ["-1"],
}
MESSAGE_FORMATS = [
    "3.0", "0.10.0", "0.9.0.1", "2.8", "0.9", "5", "3.0.1", "0.11.0.0", "1.0", "3.0-IV9", "4.0",
    "0.10", "3.9-IV0", "4.0-IV1", "4.0-IV9", "0.8.2", "", "x", "2.5-IV0", "2.5-IV1",
]  # fmt: skip


def probes(release: int) -> list[tuple[str, str]]:
    by_name = dict(PROBES) | ({"message.format.version": MESSAGE_FORMATS} if release < 4 else {})
    return [(name, value) for name, values in by_name.items() for value in values]


def ask_kafka(version: str, questions: list[tuple[str, str]]) -> list[str]:
    oracle = Path(__file__).parent / "LogConfigOracle.java"
    done = subprocess.run(
        java_command(require_oracle(f"jars-{version}"), str(oracle)),
        input="".join(f"{name}\t{value}\n" for name, value in questions),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.splitlines()


def as_java(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def described(setting: Setting, release: int) -> str:
    default = setting.default if release < 4 else setting.default_in_4
    limit = setting.limit if release < 4 else setting.limit_in_4
    facts = ("setting", setting.name, setting.kind.name, as_java(default), limit.describe)
    return "\t".join(facts)


def answered(name: str, value: str, release: int) -> str:
    try:
        return "ok\t" + as_java(SETTINGS[name].parse(value, release))
    except InvalidSetting as refusal:
        return f"error\t{refusal}"


@pytest.mark.parametrize(("version", "release"), [("3.9.1", 3), ("4.4.0", 4)])
def test_settings_and_refusals_are_kafkas(version: str, release: int) -> None:
    questions = probes(release)
    lines = ask_kafka(version, questions)
    settings = {line for line in lines if line.startswith("setting\t")}
    assert settings == {
        described(setting, release) for setting in SETTINGS.values() if release in setting.releases
    }
    ours = [answered(name, value, release) for name, value in questions]
    assert ours == lines[len(settings) :]
