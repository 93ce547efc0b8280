"""Walk a folder as version control sees it: ignore files are honoured, links and its own folders passed over."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore")
"""In each folder; the later one has the last word, and a deeper folder's over a higher one's."""

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})

_STARS = re.compile(r"\*+")
_MOST_STARS = 4
"""In one line: each more multiplies what matching a long name may cost."""

_Rules = tuple[tuple[int, "GitIgnoreSpec"], ...]
"""Ignore files from the root down, each with the length of its folder's path."""


def walk_files(root: Path) -> Iterator[str]:
    """Yield the path of every regular file beneath `root` that is not ignored, with ``/`` and relative to it.

    Symbolic links are not followed and not yielded. A folder that cannot be read is passed over.
    """
    pending: list[tuple[str, _Rules]] = [("", ())]
    while pending:
        folder, rules = pending.pop()
        entries = _listed(root / folder)
        rules = _with_rules(entries, folder, rules)
        for entry in entries:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in VERSION_CONTROL and not _is_ignored(f"{path}/", rules):
                    pending.append((f"{path}/", rules))
            elif entry.is_file(follow_symlinks=False) and not _is_ignored(path, rules):
                yield path


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _with_rules(entries: list[os.DirEntry[str]], folder: str, rules: _Rules) -> _Rules:
    """Return `rules` with those of the ignore files among `entries`."""
    present = {entry.name: entry for entry in entries if entry.name in IGNORE_FILES and entry.is_file(follow_symlinks=False)}
    lines = [line for name in IGNORE_FILES if name in present for line in _lines(present[name].path)]
    return (*rules, (len(folder), _spec(lines))) if lines else rules


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _spec(lines: list[str]) -> "GitIgnoreSpec":
    """Return the rules of `lines`; one that is no pattern is passed over, as git does, and so is one made to take forever."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - a quarter of the room's import time, for those who complete
    from pathspec.patterns.gitignore import GitIgnorePatternError  # noqa: PLC0415 - as above

    patterns: list[str] = []
    for line in [line for line in lines if len(_STARS.findall(line)) <= _MOST_STARS]:
        with suppress(GitIgnorePatternError):
            GitIgnoreSpec.from_lines([line])
            patterns.append(line)
    return GitIgnoreSpec.from_lines(patterns)


def _is_ignored(path: str, rules: _Rules) -> bool:
    for start, spec in reversed(rules):
        ignored = spec.check_file(path[start:]).include
        if ignored is not None:
            return ignored
    return False
