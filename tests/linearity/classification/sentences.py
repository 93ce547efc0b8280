"""Sentences of many languages, by what they are."""

import json
from pathlib import Path
from typing import Any

SENTENCES: dict[str, Any] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)
