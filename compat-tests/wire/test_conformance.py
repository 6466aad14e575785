"""Every declaration agrees with Apache Kafka's own definitions."""

import apache
import conformance
import pytest
from oracles import ORACLES, require_oracle


@pytest.fixture(scope="module")
def report() -> conformance.Report:
    for release in apache.RELEASES:
        require_oracle(f"jars-{release}")
    return conformance.report(ORACLES)


def test_every_message_and_version_agrees(report: conformance.Report) -> None:
    assert report.differences == []
    assert str(report) == "messages=258 versions=834 superseded=63 differences=0"


def test_a_wrong_declaration_is_named() -> None:
    field = apache.Field("Acks", "int16", False, 0, None, False, False)
    theirs = apache.Layout(False, (field,))
    wider = apache.Field("Acks", "int32", False, 0, 3, False, False)
    assert list(conformance.compare(theirs, apache.Layout(True, (wider,)))) == [
        "flexible is False at Apache, True here",
        "Acks: type is 'int16' at Apache, 'int32' here",
        "Acks: tag is None at Apache, 3 here",
    ]
    assert list(conformance.compare(theirs, apache.Layout(False, ()))) == [
        "fields: [Acks] at Apache, [] here"
    ]
