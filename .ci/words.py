"""Check the size and wording of the docs.

Usage: python .ci/words.py

Exit code 1 means that a limit is exceeded; the places are named. Generated pages and decisions are
not counted.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("front", "linearity", "window", "pressure", "polynomial", "nodes", "apps")
GENERATED = ("command-line", "gists", "models", "paths")
MOST_PAGES, MOST_WORDS, MOST_README_LINES = 30, 32_000, 120
LONGEST_LINE = 100

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_MADE = re.compile(
    r"^<!-- (?:([\w ]+)|table: .+) -->$.*?^<!-- (?:end of \1|/table) -->$", re.DOTALL | re.MULTILINE
)
"""A generated part of a page."""
_ASIDE = re.compile(r"^(\||!?\[|<|\s*https?:)|\]\(")
"""Lines that cannot be wrapped: of a table, an image or a comment, or with a link."""


def pages(root: Path) -> Mapping[str, str]:
    """Return the text of each hand-written page of the docs by its name."""
    return {
        page.stem: _MADE.sub("", page.read_text(encoding="utf-8"))
        for page in sorted((root / "docs").glob("*.md"))
        if page.stem not in GENERATED
    }


def long_lines(text: str) -> list[str]:
    r"""Return the lines of prose that are too long.

    >>> long_lines("short\n" + "long " * 30 + "\n| a table " + "of cells " * 20)[0][:9]
    'long long'
    """
    prose = _FENCE.sub("", text)
    return [
        line for line in prose.splitlines() if len(line) > LONGEST_LINE and not _ASIDE.search(line)
    ]


def messages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the strings in the code that are not docstrings, each with its module."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            silent = {
                id(node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and id(node) not in silent:
                    yield path.relative_to(root).as_posix(), str(node.value)


def count_words(written: Mapping[str, str]) -> int:
    """Return the number of words on the pages."""
    return sum(len(text.split()) for text in written.values())


def faults(root: Path) -> Iterator[str]:
    """Yield one line for each limit that is exceeded or wording that is not allowed."""
    written = pages(root)
    words = count_words(written)
    lines = (root / "README.md").read_text(encoding="utf-8").count("\n")
    if len(written) > MOST_PAGES:
        yield f"docs have {len(written)} pages. Merge some: {MOST_PAGES} are the limit."
    if words > MOST_WORDS:
        yield f"docs have {words:,} words. Shorten them: {MOST_WORDS:,} are the limit."
    if lines > MOST_README_LINES:
        yield f"README.md has {lines} lines. Shorten it: {MOST_README_LINES} are the limit."
    for name, text in written.items():
        for line in long_lines(text):
            yield f"docs/{name}.md: a line of {len(line)} characters: {line[:60]}"
        if re.search(r"(?:^|[.!?]\s+|\n\s*)Whoever\b", text):
            yield f"docs/{name}.md: a sentence begins with Whoever."
    for module, text in messages(root):
        if "legal:" in text:
            yield f"{module}: a message says legal: instead of what to do: {text[:60]}"


def main() -> int:
    """Print the counts and the faults."""
    written = pages(ROOT)
    print(f"docs: {len(written)} pages, {count_words(written):,} words")
    found = list(faults(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
