"""Regenerate the tables of `docs/paths.md` from the paths of a session.

Usage: python .ci/paths_page.py

Only the text between the markers of a table is generated; the rest of the page is written by hand.
"""

from collections.abc import Iterable
from pathlib import Path

from page_blocks import replace_blocks

from polycontext.polynomial.session.paths import ALIASES, paths

PAGE = Path(__file__).resolve().parents[1] / "docs" / "paths.md"


def written(page: str) -> str:
    """Return the text of the page with both of its tables regenerated.

    Raises:
        ValueError: The page has no markers for a table.
    """
    tables = {
        "paths": _table(
            ("path, and what it takes and gives", "what it does"),
            ((f"`{path}`", path.summary) for path in paths()),
        ),
        "aliases": _table(
            ("former path", "path"), ((f"`{old}`", f"`{now}`") for old, now in ALIASES.items())
        ),
    }
    return replace_blocks(page, tables)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
