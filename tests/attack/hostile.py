"""Texts that make careless parsers slow: 98 kinds, each of any length."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

KINDS: Final[Mapping[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""The text that each kind of hostile text repeats, by the kind's name."""


def hostile_text(kind: str, characters: int) -> str:
    """Return a text of that kind and of that many characters.

    >>> hostile_text("star and letter", 5), len(KINDS)
    ('*a*a*', 98)
    """
    unit = KINDS[kind]
    return (unit * (characters // len(unit) + 1))[:characters]
