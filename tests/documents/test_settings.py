"""docs/settings.md is what the tables say."""

from pathlib import Path

from documents.settings import in_use, render

from barnabas.server.settings.table import settings

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def _plain(text: str) -> str:
    return text.replace("**", "")  # which settings the code reads may lag behind


def test_the_document_is_fresh() -> None:
    assert _plain(DOCUMENT.read_text()) == _plain(render()), "run scripts/docs"


def test_every_setting_is_documented_once() -> None:
    rows = [line for line in render().splitlines() if line.startswith("| ")]
    for name in settings():
        in_broker_tables = [row for row in rows if row.replace("**", "").startswith(f"| `{name}`")]
        assert in_broker_tables, name


def test_what_the_code_reads_is_marked() -> None:
    assert "log.retention.ms" in in_use()
    assert in_use() <= set(settings())
    assert "**`log.retention.ms`**" in render()
