"""What an offset is, rule by rule."""

from __future__ import annotations

import pytest

from barnabas.pipeline.audit.kinds import FAULTS, FLAGS, GAPS, MEANINGS, RULES, Kind, kind_of


def kind(flags: str) -> Kind | None:
    return kind_of(dict.fromkeys(flags.split(), True))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("current held stored stable committed landed lake", Kind.LANDED),
        ("current held stored stable committed landed", Kind.MISSING),
        ("current held stored stable committed late", Kind.NOT_LANDED_YET),
        ("current held stored stable committed", Kind.MISSING),
        ("current held stored everything", Kind.MISSING),
        ("current held stored stable landed", Kind.ABORTED),
        ("current held stored stable landed lake", Kind.EXTRA),
        ("current held stored late", Kind.OPEN),
        ("current held stored landed lake", Kind.EXTRA),
        ("current held stored stable landed lake everything", Kind.LANDED),
        ("current held stored stable landed everything", Kind.MISSING),
        ("current held stored late everything", Kind.NOT_LANDED_YET),
        ("current held stable landed marker", Kind.MARKER),
        ("current held stable landed marker lake", Kind.EXTRA),
        ("current held stable landed thinned", Kind.COMPACTED),
        ("current held stable landed compacting", Kind.COMPACTED),
        ("current held stable landed compacting lake", Kind.ONLY_IN_LAKE),
        ("current held stable landed unprobed", Kind.UNSEEN),
        ("current held stable landed", Kind.UNEXPLAINED),
        ("current held stable landed lake", Kind.EXTRA),
        ("current below landed lake", Kind.ONLY_IN_LAKE),
        ("current below landed", Kind.READ_EMPTY),
        ("current below landed trimmed", Kind.READ_EMPTY),
        ("current below stored stable landed", Kind.READ_EMPTY),
        ("current below", Kind.RETAINED),
        ("current below trimmed", Kind.DELETED),
        ("current below landed damaged", Kind.MISSING),
        ("current landed lake", Kind.EXTRA),
        ("current below stored stable committed landed lake", Kind.ONLY_IN_LAKE),
        ("current below stored stable committed landed", Kind.MISSING),
        ("current below stored stable landed everything", Kind.MISSING),
        ("current below stored stable committed", Kind.MISSING),
        ("current below stored stable committed late", Kind.RETAINED),
        ("current below stored stable", Kind.RETAINED),
        ("landed lake", Kind.RECREATED),
        ("landed", Kind.RECREATED),
        ("landed damaged", Kind.MISSING),
        ("current late", None),
    ],
)
def test_an_offset_is_named(flags: str, expected: Kind | None) -> None:
    assert kind(flags) == expected


def test_what_is_wrong_is_said_before_what_is_right() -> None:
    landed = "current held stored stable committed landed lake"
    assert kind(f"{landed} doubled") == Kind.DOUBLED
    assert kind(f"{landed} doubled differing") == Kind.DIFFERING
    assert kind("landed lake doubled") == Kind.DOUBLED


def test_a_damaged_file_excuses_no_record_and_accuses_no_marker() -> None:
    assert kind("current held stable landed damaged marker") == Kind.MARKER
    assert kind("current held stored stable committed landed damaged") == Kind.MISSING
    assert kind("current held stable landed damaged compacting") == Kind.MISSING


def test_rules_speak_of_known_flags_and_kinds_have_meanings() -> None:
    named = {word.lstrip("!") for rule in RULES for word in rule.conditions.split()}
    assert named <= set(FLAGS)
    assert set(MEANINGS) == set(Kind)
    assert not set(GAPS) & FAULTS
