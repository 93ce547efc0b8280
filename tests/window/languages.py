"""Everyday prose in many languages, which tokenizers split finely, and names of many models."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LANGUAGES: Mapping[str, str] = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
)
"""About three sentences for each language; all say the same."""

MODEL_NAMES: Mapping[str, Any] = json.loads(
    Path(__file__).with_name("model_names.json").read_text(encoding="utf-8")
)
"""Names as people write them: with their row of the table, and with their tokenizer."""
