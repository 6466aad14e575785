"""docs/settings.md is what the tables say."""

import ast
import re
from pathlib import Path

from documents.settings import CHECKED, in_use, render

from barnabas.server.settings.config import TYPED
from barnabas.server.settings.table import settings
from barnabas.server.settings.topics import TOPIC_SETTINGS, WITHOUT_EFFECT
from barnabas.server.settings.without_effect import is_without_effect
from barnabas.storage.log_config import SETTINGS as LOG_SETTINGS

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "settings.md"


def test_the_document_is_fresh() -> None:
    assert DOCUMENT.read_text() == render(), "run scripts/docs"


def test_every_setting_is_documented_once() -> None:
    rows = [line for line in render().splitlines() if line.startswith("| ")]
    for name in settings():
        in_broker_tables = [row for row in rows if row.replace("**", "").startswith(f"| `{name}`")]
        assert in_broker_tables, name


def attributes_read(*names: str, but: tuple[str, ...] = ()) -> set[str]:
    """What the code of these folders, or files, reads of any object."""
    paths = [path for name in names for path in ((ROOT / name).rglob("*.py"))]
    trees = [ast.parse(path.read_text()) for path in paths if path.name not in but]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}


def marked_in_document(section: str) -> dict[str, bool]:
    """Each setting of the document's tables before or from "## Topics", and if it is bold."""
    before, topics = DOCUMENT.read_text().split("\n## Topics\n")
    rows = re.findall(r"^\| (\*\*)?`([^`]+)`", topics if section == "topics" else before, re.M)
    return {name: bool(bold) for bold, name in rows}


def test_broker_settings_have_an_effect_or_are_said_to_have_none() -> None:
    attributes = attributes_read("server", "storage", but=("typed.py",))
    read = {name for attribute, name in TYPED.items() if attribute in attributes}
    inherited = {
        name
        for topic in set(TOPIC_SETTINGS) - WITHOUT_EFFECT
        for name, _ in TOPIC_SETTINGS[topic].broker
    }
    marked = marked_in_document("brokers")
    assert set(marked) == set(settings())
    assert {name for name, bold in marked.items() if bold} == (read | inherited) - CHECKED


def test_a_broker_names_the_same_settings_as_without_effect() -> None:
    assert {name for name in settings() if is_without_effect(name)} == set(settings()) - in_use()


def test_what_is_only_checked_is_read_by_nobody_else() -> None:
    only_checked = {attribute for attribute, name in TYPED.items() if name in CHECKED}
    assert len(only_checked) == len(CHECKED)
    assert (
        only_checked & attributes_read("server", "storage", but=("typed.py", "checks.py")) == set()
    )


def test_topic_settings_have_an_effect_or_are_said_to_have_none() -> None:
    read = attributes_read("server", "storage", but=("typed.py", "log_config.py"))
    in_config = {"cleanup_policy", "message_timestamp_difference_max_ms", "segment_ms"}
    marked = marked_in_document("topics")
    assert set(marked) == set(LOG_SETTINGS)
    for name, bold in marked.items():
        attribute = name.replace(".", "_")
        assert bold == (name not in WITHOUT_EFFECT), name
        assert bold == (attribute in read or attribute in in_config), name


def test_a_settings_effect_is_marked() -> None:
    assert "log.retention.ms" in in_use() and "log.preallocate" not in in_use()
    assert in_use() <= set(settings())
    assert "| **`log.retention.ms`** |" in render() and "| `log.preallocate` |" in render()
