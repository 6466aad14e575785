"""Where the files of docs/deployment.md are."""

from __future__ import annotations

from pathlib import Path

from oracles import ROOT

HERE = Path(__file__).resolve().parent
FILES = ROOT / "docs" / "deployment"
