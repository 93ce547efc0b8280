"""Write the tables of `docs/paths.md` anew, from the paths that a session answers.

Usage: python .ci/paths_page.py

What stands between the markers of a table is made here; the rest of the page is written by hand.
"""

from collections.abc import Iterable
from pathlib import Path

from polycontext.polynomial.session.paths import ALIASES, paths

PAGE = Path(__file__).resolve().parents[1] / "docs" / "paths.md"


def written(page: str) -> str:
    """Return the text of the page with both of its tables made anew.

    Raises:
        ValueError: a table has no place on the page.
    """
    tables = {
        "paths": _table(("path, and what it takes and gives", "what it does"), ((f"`{path}`", path.summary) for path in paths())),
        "aliases": _table(("former path", "path"), ((f"`{old}`", f"`{now}`") for old, now in ALIASES.items())),
    }
    for name, table in tables.items():
        before, begins, rest = page.partition(f"<!-- {name} -->\n")
        _, ends, after = rest.partition(f"<!-- end of {name} -->")
        if not ends:
            raise ValueError(f"no place for the table of {name}; legal: between two markers")
        page = f"{before}{begins}\n{table}\n{ends}{after}"
    return page


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
