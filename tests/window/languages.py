"""Everyday prose in many languages, which tokenizers split more finely than English."""

from collections.abc import Mapping
from pathlib import Path

LANGUAGES: Mapping[str, str] = dict(
    line.split(": ", 1)
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
)
"""About three sentences for each language; all say the same."""
