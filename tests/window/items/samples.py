"""Items for the tests of items: one that is written out, and generated ones."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from polycontext.testing.strategies import TEXTS
from polycontext.window import ItemType
from polycontext.window.items import ContextItem

TABLES: dict[str, Any] = json.loads(
    Path(__file__).with_name("tables.json").read_text(encoding="utf-8")
)
"""Wrong items with what is wrong, labels, languages of files, and definitions of languages."""
ADD = "(defun add (a b) (+ a b))"

NAMES = st.text(max_size=20) | st.sampled_from(
    ["a.py", "src/math.lisp", "notes.md", "LICENSE", "a\n```\n# b.py", "x\u2028y.js", "#", " "]
)
LINES = st.integers(1, 10**6)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def seed_item(**fields: Any) -> ContextItem:
    """Return the item that is written out, some fields changed."""
    given: dict[str, Any] = {
        "content": ADD,
        "type": "code",
        "metadata": {"filename": "math.lisp", "start_line": 5, "end_line": 7},
    } | fields
    return ContextItem(**given)


@st.composite
def metadata(draw: st.DrawFn) -> dict[str, Any] | None:
    """Draw metadata that a caller may give: some known keys, any others."""
    if draw(st.booleans()):
        return None
    start, end = sorted([draw(LINES), draw(LINES)])
    known: dict[str, Any] = {
        "filename": draw(NAMES),
        "start_line": start,
        "end_line": end,
        "package": draw(TEXTS),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(known))))
    return draw(st.dictionaries(st.sampled_from(["kind", "by", "π"]), JSON, max_size=2)) | {
        key: known[key] for key in chosen
    }


def items() -> st.SearchStrategy[ContextItem]:
    """Draw items of every type."""
    return st.builds(
        ContextItem, TEXTS, st.sampled_from(ItemType), metadata(), timestamp=st.integers(0, 10**11)
    )
