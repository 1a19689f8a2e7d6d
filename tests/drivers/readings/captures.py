"""The captured texts of device tools, and what a right reader returns for each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "data" / "device_texts"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text())


def text_of(name: str) -> str:
    """Return a capture, its bytes decoded as every reader's caller does."""
    return (FOLDER / name).read_bytes().decode(errors="replace")
