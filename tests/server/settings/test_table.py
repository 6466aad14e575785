"""The tables themselves; compat-tests/config compares them with Kafka's own definitions."""

import pytest

from barnabas.server.settings.definitions.limits import (
    KAFKA_VERSION,
    LEVELS,
    NO_DUPLICATES,
    NON_EMPTY,
    NON_EMPTY_LIST,
    fraction,
    in_any_case,
)
from barnabas.server.settings.table import AREAS, CLUSTER_WIDE, PER_BROKER, READ_ONLY, settings
from barnabas.server.settings.topics import TOPIC_SETTINGS
from barnabas.storage.log_config import SETTINGS as LOG_SETTINGS
from barnabas.storage.setting_types import (
    UNLIMITED,
    InvalidSetting,
    Limit,
    at_least,
    between,
    between_or,
    one_of,
)

RELEASES = (3, 4)


@pytest.mark.parametrize("release", RELEASES)
def test_every_setting_is_whole(release: int) -> None:
    for name, setting in settings(release).items():
        assert setting.name == name
        assert setting.area in AREAS
        assert setting.importance in ("low", "medium", "high"), name
        assert setting.mode in (READ_ONLY, PER_BROKER, CLUSTER_WIDE), name
        assert setting.flags <= {"internal", "3.9-only", "4.4-only", "dynamic-only", "plugin"}, name
        assert setting.documentation.endswith("."), name
        assert setting.documentation[0].isupper() or "." in setting.documentation.split()[0], name


@pytest.mark.parametrize("release", RELEASES)
def test_every_default_keeps_its_own_limit(release: int) -> None:
    for setting in settings(release).values():
        setting.parse(setting.default_text)


def test_a_row_holds_what_differs_in_4_4() -> None:
    old, new = settings(3)["log.segment.bytes"], settings(4)["log.segment.bytes"]
    assert (old.limit.describe, new.limit.describe) == ("[14,...]", "[1048576,...]")
    assert old.parse("14") == 14
    with pytest.raises(InvalidSetting, match="Value must be at least 1048576"):
        new.parse("14")
    assert settings(4)["listeners"].kind.name == "LIST"
    assert settings(4)["node.id"].required
    assert settings(4)["zookeeper.connect"].releases == {3}


@pytest.mark.parametrize(
    ("limit", "good", "bad"),
    [
        (at_least(1), [1, 1 << 40], [0, -1]),
        (between(0, 1), [0, 0.5, 1], [1.5, -0.1]),
        (fraction(0, 0.5), [0, 0.5], [0.6, -0.1]),
        (between_or(1, 9, -1), [1, 9, -1], [0, 10]),
        (one_of("a", "b"), ["a", ("a", "b"), ()], ["c", ("a", "c")]),
        (in_any_case("A", "B"), ["a", "B"], ["c"]),
        (NON_EMPTY, ["x", None], [""]),
        (NON_EMPTY_LIST, [("a",)], [(), ("a", "a")]),
        (NO_DUPLICATES, [(), ("a", "b")], [("a", "a")]),
        (KAFKA_VERSION, ["2.8", "3.9-IV0"], ["9.9"]),
        (LEVELS, ["info", "warn,replication=debug"], ["loud", "info,x", "info,=debug"]),
        (UNLIMITED, [None, 1, "x"], []),
    ],
)
def test_limits(limit: Limit, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert limit.complain("name", value) is None
    for value in bad:
        assert limit.complain("name", value) is not None


def test_a_refused_password_is_not_shown() -> None:
    for setting in settings().values():
        assert setting.sensitive == (setting.kind.name == "PASSWORD")
    assert settings()["ssl.key.password"].parse(" secret ") == "secret"


def test_shorts_are_short() -> None:
    setting = settings()["offsets.topic.replication.factor"]
    assert setting.parse("32767") == 32767
    with pytest.raises(InvalidSetting, match="Not a number of type SHORT"):
        setting.parse("32768")


def test_every_topic_setting_inherits_from_settings_that_exist() -> None:
    assert set(TOPIC_SETTINGS) == set(LOG_SETTINGS)
    for name, topic in TOPIC_SETTINGS.items():
        for broker, unit in topic.broker:
            assert broker in settings(), name
            assert settings()[broker].kind.name == LOG_SETTINGS[name].kind.name or unit > 1


@pytest.mark.parametrize("release", RELEASES)
def test_broker_and_topic_defaults_agree(release: int) -> None:
    for name, topic in TOPIC_SETTINGS.items():
        values = [(settings(release)[each], unit) for each, unit in topic.broker]
        given = [(s, unit) for s, unit in values if s.default_text is not None]
        if given and release in LOG_SETTINGS[name].releases:
            setting, unit = given[0]
            value = setting.parse(setting.default_text)
            log_setting = LOG_SETTINGS[name]
            expected = log_setting.default if release == 3 else log_setting.default_in_4
            assert (value * unit if unit > 1 else value) == expected, name
