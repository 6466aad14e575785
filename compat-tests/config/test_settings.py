"""The tables in server/settings against the definitions inside Apache Kafka 3.9.1 and 4.4.0."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from oracles import run_java

from barnabas.server.settings.describe import broker_synonyms
from barnabas.server.settings.table import READ_ONLY, Setting, settings
from barnabas.server.settings.topics import TOPIC_SETTINGS

VERSIONS = {"3.9.1": 3, "4.4.0": 4}

# Where we differ on purpose: (version, setting, fact) and why. Every row must still be true.
DIFFERENT = {
    ("3.9.1", "remote.log.manager.copier.thread.pool.size", "valid"): (
        "Kafka prints a sentence where others have a range; -1 and up means the same"
    ),
    ("3.9.1", "remote.log.manager.expiration.thread.pool.size", "valid"): (
        "Kafka prints a sentence where others have a range; -1 and up means the same"
    ),
}


@cache
def _kafka(version: str) -> dict[tuple[str, str], dict[str, Any]]:
    source = str(Path(__file__).parent / "ConfigOracle.java")
    rows = [json.loads(line) for line in run_java(version, source).splitlines()]
    return {(row["kind"], row["name"]): row for row in rows}


def _facts(setting: Setting) -> dict[str, object]:
    return {
        "type": setting.kind.name,
        "has_default": not setting.required,
        "default": setting.default_text,
        "importance": setting.importance.upper(),
        "mode": setting.mode,
        "internal": "internal" in setting.flags,
        "valid": setting.limit.describe,
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_broker_settings_are_kafkas(version: str) -> None:
    release = VERSIONS[version]
    theirs = {name: row for (kind, name), row in _kafka(version).items() if kind == "broker"}
    ours = {
        name: setting
        for name, setting in settings(release).items()
        if setting.defined_by_kafka and release in setting.releases
    }
    assert set(ours) == set(theirs)
    different = {
        (version, name, fact): (value, theirs[name][fact])
        for name, setting in ours.items()
        for fact, value in _facts(setting).items()
        if value
        != (theirs[name][fact] if theirs[name][fact] is not None or fact == "default" else "null")
    }
    assert set(different) == {key for key in DIFFERENT if key[0] == version}, different


@pytest.mark.parametrize("version", VERSIONS)
def test_settings_that_can_only_be_set_live_are_kafkas(version: str) -> None:
    kafka = _kafka(version)
    broker = {name for kind, name in kafka if kind == "broker"}
    live = {name for kind, name in kafka if kind == "dynamic-broker"}
    ours = {n for n, s in settings(VERSIONS[version]).items() if "dynamic-only" in s.flags}
    assert live - broker == ours
    assert live & broker <= {
        n for n, s in settings(VERSIONS[version]).items() if s.mode != READ_ONLY
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_may_be_empty_where_kafkas_may(version: str) -> None:
    for (kind, name), row in _kafka(version).items():
        if kind == "broker" and row.get("empty_allowed") is not None:
            setting = settings(VERSIONS[version])[name]
            refused = setting.limit.complain(name, ()) is not None
            # A list of given words takes the empty list here; process.roles is refused elsewhere.
            assert refused != row["empty_allowed"] or row["valid"], name


@pytest.mark.parametrize("version", VERSIONS)
def test_synonyms_are_kafkas(version: str) -> None:
    for (kind, name), row in _kafka(version).items():
        if kind == "broker":
            assert list(broker_synonyms(name)) == row["synonyms"], name
        if kind == "topic" and not row["internal"]:
            ours = [[broker, str(2 * unit)] for broker, unit in TOPIC_SETTINGS[name].broker]
            assert ours == row["synonyms"], name
